import { VALUE_SETTINGS } from '../database/server-settings.js';
import { Secret } from '../secret.js';

/** A parameter of a database URL: the values that are obeyed, and what to give instead of others. */
type Parameter = readonly [values: RegExp, hint: string];

const file: Parameter = [/^(?!system$)./s, 'give the path of a PEM file; without it, the CAs of Node.js count'];
const any: Parameter = [/^/, ''];

/**
 * Every parameter that counts; any other is an error. `pg` ignores most parameters of libpq and of Prisma, and most
 * wrong values: the service would then connect otherwise than its operator believes.
 */
const PARAMETERS: Readonly<Record<string, Parameter>> = {
  // Those that may be in the address, too
  host: [/^[^,]+$/, 'give one host, or the folder of a Unix socket'],
  port: [/^\d{1,5}$/, 'give one port'],
  user: any,
  password: any,
  dbname: [/^[^/]+$/, 'give the name of the database'],
  // Of pg-connection-string
  sslmode: [
    /^(disable|prefer|require|verify-ca|verify-full|no-verify)$/,
    'give verify-full, or disable for plaintext (prefer, require and verify-ca count as verify-full)',
  ],
  ...{ sslrootcert: file, sslcert: file, sslkey: file },
  ssl: [/^(true|1|0)$/, 'give sslmode instead'],
  sslnegotiation: [/^(postgres|direct)$/, 'give postgres or direct'],
  uselibpqcompat: [/^(true|false)$/, 'give true or false'],
  ...{ application_name: any, fallback_application_name: any },
  options: any,
  // What holds for every connection, whatever the URL says
  schema: [/^public$/, 'the tables are in the schema public; give the service a database of its own'],
  client_encoding: [/^utf-?8$/i, 'give UTF8, or leave it out'],
  target_session_attrs: [/^(any|read-write)$/, 'give read-write, which the service requires in any case'],
  gssencmode: [/^(disable|prefer)$/, 'give disable; encryption by GSSAPI is not supported'],
  channel_binding: [/^(disable|prefer)$/, 'leave it out; channel binding is not supported'],
};

/** What a parameter that is known from elsewhere is called here. */
const INSTEAD: Readonly<Record<string, string>> = {
  connection_limit: 'give DATABASE_POOL_SIZE instead',
  pgbouncer: 'give the pooler in DATABASE_URL and the database in DATABASE_DIRECT_URL instead',
  search_path: PARAMETERS.schema?.[1] ?? '',
  statement_timeout: 'give options=-c%20statement_timeout=… instead',
};

const FORM =
  'give a URL of one host, such as postgresql://user:password@host:5432/database, with # / ? and % in the password written as %23 %2F %3F %25; for a Unix socket, give its folder: postgresql://user:password@/database?host=/run/postgresql';

/**
 * Reads a database URL, and writes it as `pg` and its other readers understand it: the whole address before the
 * parameters, a Unix socket as a percent-encoded host.
 * @returns the URL, or what is wrong with it, without a value
 */
export function readDatabaseUrl(text: string): Secret | string {
  // A URL with credentials needs a host for `URL`, not for libpq.
  const url = URL.parse(text) ?? URL.parse(text.replace(/^(\w+:\/\/[^/?#]*@)(?=[:/?]|$)/, '$1nowhere'));
  // An @ behind the address belongs to a password with / or ?: what looks like parameters is a part of it.
  if (!url || !/^postgres(ql)?:$/.test(url.protocol) || url.hash || url.search.includes('@')) return FORM;
  if (/%(?![0-9a-f]{2})/i.test(text)) return FORM;
  const given = [...url.searchParams];
  const fault = given.map(([name, value], i) => faultOf(name, value, given.slice(0, i))).find(Boolean);
  if (fault) return fault;

  const { host, port, user, password, dbname, ...others } = Object.fromEntries(given);
  if (host) url.hostname = host.startsWith('/') ? encodeURIComponent(host) : host.includes(':') ? `[${host}]` : host;
  else if (url.hostname === 'nowhere') return FORM;
  if (port) url.port = port;
  if (user) url.username = user;
  if (password) url.password = password;
  if (dbname) url.pathname = encodeURIComponent(dbname);
  if (host && decodeURIComponent(url.hostname).replace(/^\[|\]$/g, '') !== host) return FORM;
  delete others.schema;
  // `pg` verifies with these modes as with `verify-full`, and warns that a later version will not.
  if (others.uselibpqcompat !== 'true' && /^(prefer|require|verify-ca)$/.test(others.sslmode ?? '')) {
    others.sslmode = 'verify-full';
  }
  url.search = Object.entries(others)
    .map((pair) => pair.map(encodeURIComponent).join('='))
    .join('&');
  return new Secret(url.href);
}

function faultOf(name: string, value: string, before: readonly string[][]): string | undefined {
  // A name that is none of a parameter may be a part of a password.
  if (!/^\w{1,40}$/.test(name)) return FORM;
  if (before.some(([other]) => other === name)) return `has the parameter ${name} twice; give it once`;
  const known = Object.hasOwn(PARAMETERS, name) ? PARAMETERS[name] : undefined;
  if (!known) {
    const instead = INSTEAD[name] ?? `give none but ${Object.keys(PARAMETERS).join(', ')}`;
    return `the parameter ${name} has no effect; ${instead}`;
  }
  const [values, hint] = known;
  if (!values.test(value)) return `the parameter ${name} has a value that has no effect; ${hint}`;
  const fixed = name === 'options' ? fixedIn(value) : undefined;
  return fixed && `options sets ${fixed}, which the service sets itself; ${INSTEAD[fixed] ?? 'give it without'}`;
}

/** The first setting of `options` that has no effect, because the service sets it to another value. */
function fixedIn(options: string): string | undefined {
  const words = options.match(/(?:\\.|\S)+/gs) ?? [];
  const assignments = words.flatMap((word, i) => {
    const text = words[i - 1] === '-c' ? word : /^(?:-c|--)(.+)$/s.exec(word)?.[1];
    return text === undefined ? [] : [text.replace(/\\(.)/gs, '$1')];
  });
  for (const assignment of assignments) {
    const [, name = '', value = ''] = /^([^=]*)=?(.*)$/s.exec(assignment) ?? [];
    const key = name.replaceAll('-', '_').toLowerCase();
    const own = (VALUE_SETTINGS as Readonly<Record<string, string>>)[key];
    if (own !== undefined && own.toLowerCase() !== value.toLowerCase()) return key;
  }
  return undefined;
}
