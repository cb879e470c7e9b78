import { describe, expect, it } from '@jest/globals';
import type { Client } from '@temporalio/client';
import { newId } from '../../src/ids.js';
import { boundedAsking } from '../../src/temporal/ask-temporal.js';

const client = {
  connection: { withDeadline: (_deadline: number, work: () => unknown) => work() },
} as unknown as Client;

/** Asks `count` times for each client; the work ends when `release` is called. */
function askOften(counts: Record<string, number>) {
  const ask = boundedAsking(() => client);
  const started: string[] = [];
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const once = (id: string) =>
    ask(id, async () => {
      started.push(id);
      await released;
      return 'done';
    });
  const asked = Object.entries(counts).flatMap(([id, count]) => Array.from({ length: count }, () => once(id)));
  return { ask: once, started, release, all: Promise.allSettled(asked) };
}
const turns = () => new Promise((resolve) => setImmediate(resolve));
const count = (ids: readonly string[], id: string) => ids.filter((each) => each === id).length;

describe('requests of one client to Temporal', () => {
  it('run five at once while the others wait; another client has its own five', async () => {
    const [one, other] = [newId(), newId()];
    const { started, release, all } = askOften({ [one]: 12, [other]: 3 });
    await turns();
    expect([count(started, one), count(started, other)]).toEqual([5, 3]);
    release();
    expect((await all).map(({ status }) => status)).toEqual(Array.from({ length: 15 }, () => 'fulfilled'));
    expect(started).toHaveLength(15);
  });

  it('are refused with rate_limited when 100 wait; those of another client are not', async () => {
    const [one, other] = [newId(), newId()];
    const { ask, started, release, all } = askOften({ [one]: 105 });
    await turns();
    await expect(ask(one)).rejects.toMatchObject({ code: 'rate_limited', retryAfter: 1 });
    const unaffected = ask(other);
    await turns();
    expect(count(started, other)).toBe(1);
    release();
    expect((await all).every(({ status }) => status === 'fulfilled')).toBe(true);
    expect(await unaffected).toBe('done');
    expect(await ask(one)).toBe('done');
  });
});

it('is unavailable while Temporal is away', async () => {
  const asked = boundedAsking(() => undefined)(newId(), async () => 'done');
  await expect(asked).rejects.toMatchObject({ code: 'unavailable' });
});

it('reports an error of the call as unavailable', async () => {
  const ask = boundedAsking(() => client);
  const failing = ask(newId(), () => Promise.reject(new Error('a fault of gRPC')));
  await expect(failing).rejects.toMatchObject({ code: 'unavailable' });
});
