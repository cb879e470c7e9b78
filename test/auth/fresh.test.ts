import { expect, it } from '@jest/globals';
import { Fresh } from '../../src/auth/fresh.js';
import { TestClock } from '../support/authority.js';

function freshOn(value: string) {
  const clock = new TestClock();
  const store = { value, reads: 0, broken: false, slow: Promise.resolve() };
  const fresh = new Fresh(async () => {
    store.reads++;
    const read = store.value;
    await store.slow;
    if (store.broken) throw new Error('broken');
    return read;
  }, clock);
  /** Lets later reads wait. @returns ends them */
  const slowDown = () => {
    let finish = () => {};
    store.slow = new Promise<void>((resolve) => {
      finish = resolve;
    });
    return finish;
  };
  return { fresh, clock, store, slowDown };
}

it('shares one read among concurrent uses, and uses the value for 2 s', async () => {
  const { fresh, clock, store } = freshOn('a');
  expect(new Set(await Promise.all(Array.from({ length: 20 }, () => fresh.get())))).toEqual(new Set(['a']));
  clock.pass(1_999);
  await fresh.get();
  expect(store.reads).toBe(1);
});

it('uses the value while it reads again after 2 s, and waits for the read after 3 s', async () => {
  const { fresh, clock, store, slowDown } = freshOn('a');
  await fresh.get();
  const finish = slowDown();
  store.value = 'b';
  for (const pass of [2_000, 999]) {
    clock.pass(pass);
    expect(await fresh.get()).toBe('a');
  }
  clock.pass(1);
  const waiting = fresh.get();
  finish();
  expect(await waiting).toBe('b');
  expect(store.reads).toBe(2);
});

it('counts the age from the start of the read', async () => {
  const { fresh, clock, store, slowDown } = freshOn('a');
  const finish = slowDown();
  const first = fresh.get();
  clock.pass(2_500);
  finish();
  await first;
  store.value = 'b';
  clock.pass(500);
  expect(await fresh.get()).toBe('b');
});

it('uses the value for 3 s while it cannot be read, then rejects until it can be read again', async () => {
  const { fresh, clock, store } = freshOn('a');
  await fresh.get();
  store.broken = true;
  clock.pass(2_999);
  expect(await fresh.get()).toBe('a');
  clock.pass(1);
  await expect(fresh.get()).rejects.toThrow('broken');
  store.broken = false;
  expect(await fresh.get()).toBe('a');
});

it('refreshes with a read that begins after the call', async () => {
  const { fresh, store, slowDown } = freshOn('a');
  const finish = slowDown();
  const first = fresh.get();
  store.value = 'b';
  const refreshed = fresh.refresh();
  finish();
  expect([await first, await refreshed]).toEqual(['a', 'b']);
});
