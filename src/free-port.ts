import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { ConfigError } from './config.js';

/** Below what Linux, macOS and Windows give to outgoing connections: a port found free stays free for a while. */
const LOWEST = 10_000;
const HIGHEST = 32_000;

/** A port of 127.0.0.1 that nobody listens on. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = randomInt(LOWEST, HIGHEST);
    if (await isFree(port, '127.0.0.1')) return port;
  }
  throw new Error(`no free port found between ${LOWEST} and ${HIGHEST}`);
}

/**
 * The port that the variable `name` asks for, or a free one where it asks for 0.
 * @throws ConfigError where it is taken
 */
export async function placePort(name: string, wanted: number, host = '127.0.0.1'): Promise<number> {
  if (wanted === 0) return freePort();
  if (!(await isFree(wanted, host))) {
    throw new ConfigError([`${name}: port ${wanted} is in use; stop what listens there, give another, or 0 for any`]);
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
