import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { LiveWorkers } from '../../../src/delivery/live-workers.js';
import type { Handle } from '../../../src/platform/database/database.js';
import { newId } from '../../../src/platform/ids.js';
import { silentLog } from '../../support/silent-log.js';

// Workers that join, end, are killed, and lose Postgres, on a clock of the test's own and with a table in memory. Their
// shares of each endpoint's limit, added up, never exceed it.

const ENDPOINTS = Array.from({ length: 12 }, () => newId());
const MAXIMA = [1, 2, 3, 10];
/**
 * The first, ms: after a heartbeat by which a worker joins, or joins again, the others count it; and a worker that
 * reaches Postgres again counts the others. The second: a worker that has lost Postgres stops.
 */
const JOINING = 2_000;
const CUT_OFF = 10_000;
/** Without a change for so long, ms, each limit is used whole. */
const SETTLED = 12_000;

const step = fc.record({
  kind: fc.constantFrom('time', 'time', 'time', 'join', 'end', 'kill', 'cutOff', 'connect'),
  which: fc.nat(5),
  ms: fc.constantFrom(100, 700, 1_900, 2_100, 5_000, 9_900, 13_000),
});

/** A worker joins again by its next heartbeat, up to 2 s after it has reached Postgres. */
const JOINS_AGAIN = [
  { kind: 'join', ms: 0 },
  { kind: 'cutOff', ms: 0 },
  { kind: 'time', ms: 13_000 },
  { kind: 'join', ms: 0 },
  { kind: 'time', ms: 5_000 },
  { kind: 'connect', ms: 0 },
  { kind: 'time', ms: 2_100 },
].map((one) => ({ which: 0, ...one }) as never);

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

interface Worker {
  id: string;
  workers: LiveWorkers;
  connected: boolean;
}

test('the shares of an endpoint never exceed its limit, and use it whole when nothing changes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25, size: 'max' }), async (steps) => {
      const table = new Map<string, number>();
      const live: Worker[] = [];
      let changedAt = Number.NEGATIVE_INFINITY;
      let joinedAt = Number.NEGATIVE_INFINITY;

      const join = () => {
        const worker: Worker = { id: newId(), workers: undefined as unknown as LiveWorkers, connected: true };
        const query = async (text: string, values: unknown[]) => {
          if (!worker.connected) throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
          if (text.startsWith('delete')) return table.delete(worker.id) ? [] : [];
          const others = [...table].filter(([id, until]) => id !== worker.id && until > performance.now());
          if (!((table.get(worker.id) ?? 0) > performance.now())) joinedAt = performance.now();
          table.set(worker.id, performance.now() + Number(values[1]));
          return [{ others: others.map(([id]) => id).sort() }];
        };
        const db = { query } as unknown as Handle;
        worker.workers = new LiveWorkers(db, worker.id, () => undefined, silentLog);
        worker.workers.start();
        live.push(worker);
      };

      for (const { kind, which, ms } of steps) {
        const worker = live[which % Math.max(1, live.length)];
        if (kind === 'join' && live.length < 5) join();
        else if (kind === 'time') await jest.advanceTimersByTimeAsync(ms);
        else if (kind === 'end' && worker?.connected) await worker.workers.stop();
        // A killed process does not sign off.
        else if (kind === 'kill' && worker) {
          worker.connected = false;
          await worker.workers.stop();
        } else if (kind === 'cutOff' && worker) worker.connected = false;
        else if (kind === 'connect' && worker && !worker.connected) {
          worker.connected = true;
          joinedAt = performance.now();
        }
        if (worker && (kind === 'end' || kind === 'kill') && (kind === 'kill' || worker.connected))
          live.splice(live.indexOf(worker), 1);
        if (kind !== 'time') changedAt = performance.now();
        await jest.advanceTimersByTimeAsync(1);

        const now = performance.now();
        const joining = live.every((one) => one.connected) ? JOINING : CUT_OFF;
        for (const endpoint of ENDPOINTS) {
          for (const max of MAXIMA) {
            const total = live.reduce((sum, { workers }) => sum + workers.of(endpoint, max), 0);
            // `expect` costs more than the sum.
            if (now - joinedAt > joining + 10 && total > max) expect(total).toBeLessThanOrEqual(max);
            const connected = live.filter((one) => one.connected);
            const settled = now - changedAt > SETTLED + 10 && connected.length > 0;
            if (settled && total !== max) expect(total).toBe(max);
          }
        }
      }
      for (const { workers } of live) await workers.stop();
    }),
    { numRuns: 300, examples: [[JOINS_AGAIN]] },
  );
});
