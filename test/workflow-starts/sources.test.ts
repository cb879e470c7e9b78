import type { Handle } from '../../src/database/database.js';
import { IN_FLIGHT_BOUNDS, InFlightLimit } from '../../src/workflow-starts/in-flight-limit.js';
import { Pause } from '../../src/workflow-starts/pause.js';
import { Sources } from '../../src/workflow-starts/sources.js';

const EMPTY = { query: async () => [] } as unknown as Handle;

describe('the sources of due events', () => {
  it('look four times a second whether a burst has ended, and then give way no longer', async () => {
    let busy = true;
    const inFlight = new InFlightLimit({ ...IN_FLIGHT_BOUNDS, hasSlot: () => true });
    const options = { db: EMPTY, retryDelays: [], workflows: 'every-event' as const, busy: () => busy, inFlight };
    const sources = new Sources(options);
    const pauses: number[] = [];
    const pause = Object.assign(new Pause(), { untilWoken: async (ms: number) => void pauses.push(ms) });
    await sources.next(pause);
    sources.expectMore({ start: false, trailing: true });
    // The second batch of delivered events may begin a second after the first.
    expect(await sources.next(pause)).toEqual({ admitted: [], starts: [] });
    expect(pauses).toEqual([250]);
    busy = false;
    expect(await sources.next(pause)).toBeUndefined();
    expect(pauses).toEqual([250]);
  });
});
