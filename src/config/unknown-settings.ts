import { sourceVariables } from '../secret-sources.js';
import { SECRETS, settings } from './environment.js';

/** Variables that begin so are meant for the service. Others of the same names belong to tools: `OTEL_`, `POSTGRES_`. */
const PREFIXES = [
  ...['ALLOWED_', 'BLOCKED_', 'DATABASE_', 'DELIVERY_', 'EGRESS_', 'ENDPOINT_', 'MASTER_KEY', 'METRICS_', 'REQUEST_'],
  ...['SANDBOX_', 'TEMPORAL_', 'TRANSFER_', 'TRUSTED_', 'WORKFLOWS_'],
];
const KNOWN = new Set([...Object.keys(settings), ...SECRETS.flatMap(sourceVariables)]);
/** `HOST` and `PORT` are too short: `HOME` would be one letter from a setting. */
const SHORTEST = 6;

/**
 * A line for each variable that is probably meant for the service and has no effect: it has one of the service's
 * prefixes, or its name is a letter or two from that of a setting. No line has the value.
 */
export function unknownSettings(env: NodeJS.ProcessEnv): string[] {
  return Object.keys(env)
    .filter((name) => env[name] && !KNOWN.has(name))
    .flatMap((name) => {
      const meant = [...KNOWN].find((known) => known.length >= SHORTEST && isWithin(2, name, known));
      if (meant) return [`${name}: is not a setting and has no effect; did you mean ${meant}?`];
      const isOurs = PREFIXES.some((prefix) => name.startsWith(prefix));
      return isOurs ? [`${name}: is not a setting and has no effect; remove it`] : [];
    });
}

/** Whether at most `edits` letters must be added, removed or replaced to turn `a` into `b`. */
function isWithin(edits: number, a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > edits) return false;
  if (a === '' || b === '') return true;
  const [shorterA, shorterB] = [a.slice(1), b.slice(1)];
  if (a[0] === b[0]) return isWithin(edits, shorterA, shorterB);
  return (
    edits > 0 &&
    [
      [shorterA, b],
      [a, shorterB],
      [shorterA, shorterB],
    ].some(([left = '', right = '']) => isWithin(edits - 1, left, right))
  );
}
