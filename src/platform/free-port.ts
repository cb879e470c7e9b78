import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { ConfigError } from './config/config-error.js';

/**
 * Linux, macOS and Windows take ports above these for outgoing connections, so a port found free stays free for a
 * while. Browsers and `fetch` refuse some ports, the last of them 10080 (Fetch standard, bad port).
 */
export const LOWEST = 10_081;
const HIGHEST = 32_000;
/**
 * A process looks in its eighth of the ports. Two processes that start at the same moment thus seldom find the same one
 * before either listens there.
 */
const EIGHTH = Math.floor((HIGHEST - LOWEST) / 8);
const FIRST = LOWEST + (process.pid % 8) * EIGHTH;
/** The ports found so far: the program that is to listen there may not have begun yet. */
const found = new Set<number>();

/** A free port of 127.0.0.1, each time another one. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = randomInt(FIRST, FIRST + EIGHTH);
    if (found.has(port)) continue;
    found.add(port);
    if (await isFree(port, '127.0.0.1')) return port;
  }
  throw new Error(`no free port found between ${FIRST} and ${FIRST + EIGHTH}`);
}

/**
 * The port that the variable `name` gives, or a free port when it gives 0.
 * @throws ConfigError when the port is in use
 */
export async function choosePort(name: string, wanted: number, host = '127.0.0.1'): Promise<number> {
  if (wanted === 0) return freePort();
  if (!(await isFree(wanted, host))) {
    throw new ConfigError([
      `${name}: port ${wanted} is in use; stop the process that listens there, give another port, or 0 for any`,
    ]);
  }
  return wanted;
}

function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
