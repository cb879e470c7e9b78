import { expect, it } from '@jest/globals';
import { createReadiness } from '../../src/process/readiness.js';

/** Dependencies in a state that the test sets. `pending`: the missing migrations; undefined while Postgres is unavailable. */
function dependencies(state: { pending?: string[] | undefined; failedAt?: number; temporal?: string }) {
  const asked = { postgres: 0, temporal: 0 };
  let respond = () => {};
  const gate = new Promise<void>((resolve) => {
    respond = resolve;
  });
  const probes = {
    pendingMigrations: async () => {
      asked.postgres++;
      await gate;
      if (!state.pending) throw new Error('connect ECONNREFUSED');
      return state.pending;
    },
    unreachableSince: () => state.failedAt,
    temporal: async () => {
      asked.temporal++;
      await gate;
      return state.temporal ?? 'ok';
    },
  };
  return { probes, asked, respond };
}

const never = new Promise<void>(() => {});

/** A process that reads its dependencies every time, at a time set by the test. */
function processOn(state: { pending?: string[] | undefined; failedAt?: number; temporal?: string }) {
  const { probes, respond } = dependencies(state);
  respond();
  let time = 0;
  // No reading is kept.
  const readiness = createReadiness(probes, never, () => time, { keep: 0, limit: 2_000 });
  return {
    ready: async (at: number) => {
      time = at;
      return (await readiness()).ready;
    },
    readiness,
  };
}

it('reads Postgres and Temporal once for all callers within a second', async () => {
  const { probes, asked, respond } = dependencies({ pending: [] });
  const readiness = createReadiness(probes, never);
  const first = Array.from({ length: 50 }, () => readiness());
  respond();
  await Promise.all(first);
  await Promise.all(Array.from({ length: 50 }, () => readiness()));
  // A slow machine may take longer than the second of the cache.
  expect(asked.postgres).toBeLessThanOrEqual(2);
  expect(asked.temporal).toBeLessThanOrEqual(2);
});

it('becomes unready after Postgres was unreachable for 30 s, and ready when Postgres is back', async () => {
  const state: { pending?: string[] | undefined } = { pending: [] };
  const { ready, readiness } = processOn(state);
  expect(await ready(0)).toBe(true);
  state.pending = undefined;
  expect([await ready(1_000), await ready(30_999)]).toEqual([true, true]);
  expect((await readiness()).checks).toMatchObject({ postgres: 'unreachable', migrations: 'unknown' });
  expect(await ready(31_000)).toBe(false);
  state.pending = [];
  expect(await ready(40_000)).toBe(true);
  state.pending = undefined;
  expect([await ready(50_000), await ready(79_999), await ready(80_000)]).toEqual([true, true, false]);
});

it('counts an outage from the first failed statement, however late it is probed', async () => {
  const state: { pending?: string[] | undefined; failedAt?: number } = { pending: [] };
  const { ready } = processOn(state);
  expect(await ready(0)).toBe(true);
  Object.assign(state, { pending: undefined, failedAt: 10_000 });
  expect(await ready(40_000)).toBe(false);
});

it('is unready while migrations are missing, and until Postgres has reported that none is', async () => {
  const state: { pending?: string[] | undefined } = { pending: undefined };
  const { ready, readiness } = processOn(state);
  expect(await ready(0)).toBe(false);
  state.pending = ['20261121000000_init'];
  expect(await ready(1_000)).toBe(false);
  expect((await readiness()).checks.migrations).toBe('missing: 20261121000000_init');
  state.pending = undefined;
  expect(await ready(2_000)).toBe(false);
  state.pending = [];
  expect(await ready(3_000)).toBe(true);
});

it('is ready in any state of Temporal, and reports that state', async () => {
  const { readiness } = processOn({ pending: [], temporal: 'no namespace x' });
  expect(await readiness()).toMatchObject({ ready: true, checks: { temporal: 'no namespace x' } });
});
