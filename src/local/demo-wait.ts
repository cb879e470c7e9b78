import { setTimeout as sleep } from 'node:timers/promises';

const LONGEST = 60_000;

/** Calls `read` until it returns a value. @throws Error after 60 s, which names `what` */
export async function readUntil<T>(what: string, read: () => Promise<T | undefined>): Promise<T> {
  for (const deadline = Date.now() + LONGEST; Date.now() < deadline; await sleep(100)) {
    const value = await read();
    if (value !== undefined) return value;
  }
  throw new Error(`${what} did not happen within ${LONGEST / 1_000} s`);
}
