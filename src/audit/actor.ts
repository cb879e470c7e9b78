import { hostname, userInfo } from 'node:os';

/** Who acts: a person at a command line, a client through the API, or a client's session of the console. */
export type Actor = `cli:${string}` | `client:${string}` | `console:${string}`;

/** Who acts, as an audit entry says it. */
export interface By {
  actor: Actor;
  /** The facts of the console's session through which the client acts. They never contain a cookie or a code. */
  session?: Readonly<Record<string, string>>;
}

/** The person at this command line; under `sudo`, the user who ran `sudo`. */
export function personHere(env: NodeJS.ProcessEnv = process.env): Actor {
  return `cli:${env.SUDO_USER || userName()}@${hostname()}`;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A user in a container may have a number but no name.
    return String(process.getuid?.() ?? 'unknown');
  }
}
