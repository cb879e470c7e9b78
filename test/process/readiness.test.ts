import { expect, it } from '@jest/globals';
import type { Reach } from '../../src/platform/database/pool.js';
import { createReadiness } from '../../src/process/readiness.js';

/** `pending`: the missing migrations; undefined while Postgres is unavailable. */
interface State {
  pending?: string[] | undefined;
  readOnly?: boolean;
  reach?: Reach;
  temporal?: string;
  wasConnected?: boolean;
  encoding?: string;
}

const NOT_USED: Reach = { failedSince: undefined, at: Number.NEGATIVE_INFINITY };

/** Dependencies in a state that the test sets. */
function dependencies(state: State) {
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
    readEncoding: async () => state.encoding ?? 'UTF8',
    requireWritable: async () => {
      if (state.readOnly) throw Object.assign(new Error('read-only'), { code: '25006' });
    },
    get reach() {
      return state.reach ?? NOT_USED;
    },
    wasConnected: () => state.wasConnected === true,
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
function processOn(state: State) {
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

it('becomes unready after Postgres was unreachable or read-only for 5 s, and ready when Postgres is back', async () => {
  const state: State = { pending: [] };
  const { ready, readiness } = processOn(state);
  expect(await ready(0)).toBe(true);
  state.pending = undefined;
  expect([await ready(1_000), await ready(5_999)]).toEqual([true, true]);
  expect((await readiness()).checks).toMatchObject({ postgres: 'unreachable', migrations: 'unknown' });
  expect(await ready(6_000)).toBe(false);
  state.pending = [];
  expect(await ready(10_000)).toBe(true);
  state.readOnly = true;
  expect([await ready(20_000), await ready(24_999), await ready(25_000)]).toEqual([true, true, false]);
  expect((await readiness()).checks).toMatchObject({ postgres: 'read-only', migrations: 'applied' });
  // An outage of both kinds is one outage.
  Object.assign(state, { pending: undefined, readOnly: false });
  expect(await ready(26_000)).toBe(false);
  state.pending = [];
  expect(await ready(27_000)).toBe(true);
});

// It was ready, and names outside of Latin-1 were answered 500.
it('regression: is not ready for long on a database whose encoding is not UTF8', async () => {
  const { ready, readiness } = processOn({ pending: [], encoding: 'LATIN1' });
  await ready(0);
  expect(await ready(5_000)).toBe(false);
  expect((await readiness()).checks).toMatchObject({ postgres: 'encoding LATIN1' });
});

it('stays ready while its own statements succeed and only the probe gets no connection', async () => {
  const state: State = { pending: [] };
  const { ready, readiness } = processOn(state);
  expect(await ready(0)).toBe(true);
  state.pending = undefined;
  for (const time of [10_000, 20_000, 30_000]) {
    state.reach = { failedSince: undefined, at: time };
    expect(await ready(time)).toBe(true);
  }
  expect((await readiness()).checks).toMatchObject({ postgres: 'ok', migrations: 'applied' });
});

it('is unready while migrations are missing, and until Postgres has reported that none is', async () => {
  const state: State = {};
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

it('reports an unreachable Temporal as starting until this process has reached it for the first time', async () => {
  const state = { pending: [], temporal: 'unreachable', wasConnected: false };
  const temporal = async (readiness: ReturnType<typeof createReadiness>) => (await readiness()).checks.temporal;
  const { readiness } = processOn(state);
  expect(await temporal(readiness)).toBe('starting');
  state.temporal = 'missing';
  expect(await temporal(readiness)).toBe('missing');
  state.temporal = 'ok';
  expect(await temporal(readiness)).toBe('ok');
  state.temporal = 'unreachable';
  expect(await temporal(readiness)).toBe('unreachable');
  state.wasConnected = true;
  expect(await temporal(processOn(state).readiness)).toBe('unreachable');
});
