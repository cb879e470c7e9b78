import type { Shared } from '../http/app.js';
import { Secret } from '../platform/secret.js';

/** What the parts of the console share. */
export interface Services extends Shared {
  cookie: ReturnType<typeof sessionCookie>;
  /** The origin of BASE_URL, which every form names in `Origin`. */
  origin: string;
  /** The path of BASE_URL, which a proxy strips; empty if it has none. */
  prefix: string;
}

export function servicesOf(shared: Shared): Services {
  const { baseUrl } = shared.config;
  const { origin, pathname } = new URL(baseUrl);
  return { ...shared, cookie: sessionCookie(baseUrl), origin, prefix: pathname.replace(/\/$/, '') };
}

/**
 * The cookie that carries a session. Over https the name begins with `__Host-`, so that no other host can set the
 * cookie; browsers then require the path `/`, and no path outside of `/console` reads it. Cookies do not separate ports:
 * over http, as on localhost, the name contains the port, so that two services do not overwrite each other's cookie.
 */
export function sessionCookie(baseUrl: string) {
  const { protocol, port, pathname } = new URL(baseUrl);
  const secure = protocol === 'https:';
  const name = secure ? '__Host-console_session' : `console_session_${port || 80}`;
  const attributes = `; HttpOnly; SameSite=Strict; ${
    secure ? 'Path=/; Secure' : `Path=${pathname.replace(/\/$/, '')}/console`
  }`;
  return {
    name,
    /** The cookie's value in a `Cookie` header; undefined where it is absent, repeated or malformed. */
    read(header: string): Secret | undefined {
      const values = header
        .split(';')
        .map((pair) => pair.trim())
        .filter((pair) => pair.startsWith(`${name}=`))
        .map((pair) => pair.slice(name.length + 1));
      const [value] = values;
      return values.length === 1 && value && /^[\w-]{43}$/.test(value) ? new Secret(value) : undefined;
    },
    /** The `Set-Cookie` header that sets the session. It ends with the browser; the server ends it earlier. */
    set: (token: Secret) => `${name}=${token.reveal()}${attributes}`,
    /** The `Set-Cookie` header that removes the session. */
    clear: () => `${name}=${attributes}; Max-Age=0`,
  };
}
