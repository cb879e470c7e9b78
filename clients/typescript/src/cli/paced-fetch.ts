import type { Fetch } from '../settings.js';
import { sleep } from '../time-limit.js';

/** A `fetch` whose GET requests for `path` start at least `pause` ms apart, tries and pages included. */
export function pacedFetch(path: string, pause: number, signal: AbortSignal): Fetch {
  let next = 0;
  return async (input, init) => {
    if (init.method === 'GET' && new URL(input).pathname.endsWith(path)) {
      const now = performance.now();
      const start = Math.max(now, next);
      next = start + pause;
      if (start > now) await sleep(start - now, signal);
    }
    return fetch(input, init);
  };
}
