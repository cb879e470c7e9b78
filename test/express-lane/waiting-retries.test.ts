import { jest } from '@jest/globals';
import { AttemptSlots } from '../../src/express-lane/attempt-slots.js';
import { WaitingRetries } from '../../src/express-lane/waiting-retries.js';

const PATIENCE = 1_000;

/** Slots whose lane takes each one at the moment of its release, for a first attempt that waits. */
function withLane({ perEndpoint = 1, total = 10, firstAttempts = 0 } = {}) {
  const slots = new AttemptSlots<string>({ perEndpoint, perClient: 10, total: 20 });
  const retries = new WaitingRetries({ slots, patience: PATIENCE, perEndpoint: 2, total });
  const made: string[] = [];
  const pump = () => {
    for (let job = slots.next(); job !== undefined; job = slots.next()) made.push(job);
  };
  slots.onRelease(pump);
  for (let i = 0; i < firstAttempts; i++) slots.enqueue('c', 'e', `first ${i}`, 0);
  pump();
  const retry = (name: string, clientId = 'c', endpointId = 'e') => {
    const acquired = retries.acquire(clientId, endpointId, null);
    void acquired.then((has) => has && made.push(name));
    return acquired;
  };
  const settled = () => Promise.resolve().then(() => Promise.resolve());
  const release = async (clientId = 'c', endpointId = 'e') => {
    slots.release(clientId, endpointId);
    await settled();
  };
  return { slots, made, retry, release };
}

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick'] });
});
afterEach(() => {
  jest.useRealTimers();
});

describe('WaitingRetries', () => {
  it('takes a free slot at once', async () => {
    const { retry } = withLane();
    expect(await retry('retry')).toBe(true);
  });

  it('gives a retry a slot in turn with first attempts that wait for every slot, so that neither starves', async () => {
    const { made, retry, release } = withLane({ firstAttempts: 5 });
    const asked = [retry('retry a'), retry('retry b')];
    for (let i = 0; i < 6; i++) await release();
    expect(await Promise.all(asked)).toEqual([true, true]);
    expect(made).toEqual(['first 0', 'retry a', 'first 1', 'retry b', 'first 2', 'first 3', 'first 4']);
  });

  it('gives a retry the slot that the lane leaves free in its turn', async () => {
    const { made, retry, release } = withLane({ firstAttempts: 1 });
    const asked = [retry('retry a'), retry('retry b')];
    await release();
    await release();
    expect(await Promise.all(asked)).toEqual([true, true]);
    expect(made).toEqual(['first 0', 'retry a', 'retry b']);
  });

  it('gives up after its patience, and leaves the next slot to the lane', async () => {
    const { made, retry, release } = withLane({ firstAttempts: 2 });
    const asked = retry('retry');
    jest.advanceTimersByTime(PATIENCE);
    expect(await asked).toBe(false);
    await release();
    expect(made).toEqual(['first 0', 'first 1']);
  });

  it('serves a retry to another endpoint while those of a dead one wait', async () => {
    const { slots, made, retry, release } = withLane({ firstAttempts: 1 });
    slots.tryAcquire('c', 'other');
    for (const name of ['dead a', 'dead b']) void retry(name);
    void retry('other', 'c', 'other');
    await release('c', 'other');
    expect(made).toEqual(['first 0', 'other']);
    jest.runAllTimers();
  });

  it('lets few retries wait for one endpoint, and leaves room for other clients', async () => {
    const { slots, retry, release } = withLane({ firstAttempts: 1, total: 4 });
    slots.tryAcquire('c', 'other');
    slots.tryAcquire('d', 'theirs');
    void retry('1');
    void retry('2');
    // Two wait for this endpoint, and the client has half of the four.
    expect(await retry('3')).toBe(false);
    expect(await retry('4', 'c', 'other')).toBe(false);
    const theirs = retry('5', 'd', 'theirs');
    await release('d', 'theirs');
    expect(await theirs).toBe(true);
    jest.runAllTimers();
  });
});
