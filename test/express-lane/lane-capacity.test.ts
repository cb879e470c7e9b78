import { describe, expect, it } from '@jest/globals';
import { LaneCapacity } from '../../src/express-lane/lane-capacity.js';

const CAPACITY = 100;
function open() {
  const waiting = new Map<string, number>();
  const slots = {
    get waiting() {
      return [...waiting.values()].reduce((sum, count) => sum + count, 0);
    },
    waitingOf: (clientId: string) => waiting.get(clientId) ?? 0,
  };
  return {
    capacity: new LaneCapacity(slots, CAPACITY),
    set: (clientId: string, count: number) => waiting.set(clientId, count),
  };
}

describe('LaneCapacity', () => {
  it('admits a client until as many of its attempts wait as capacity is free', () => {
    const { capacity, set } = open();
    set('loud', 30);
    expect([
      capacity.free,
      capacity.admits('loud', 40),
      capacity.admits('loud', 41),
      capacity.admits('quiet', 70),
    ]).toEqual([70, true, false, true]);
  });

  it('keeps a refused client saturated until it holds no more than half of the free capacity', () => {
    const { capacity, set } = open();
    set('loud', 50);
    expect(capacity.saturated).toEqual([]);
    capacity.admits('loud', 1);
    expect(capacity.saturated).toEqual(['loud']);
    set('loud', 34);
    expect(capacity.saturated).toEqual(['loud']);
    set('loud', 33);
    expect(capacity.saturated).toEqual([]);
  });

  it('never keeps a client without waiting attempts saturated, even if its event exceeds the free capacity', () => {
    const { capacity, set } = open();
    set('other', 100);
    expect(capacity.admits('c', 1)).toBe(false);
    expect(capacity.saturated).toEqual([]);
  });

  it('reports once that it has recovered, when three quarters of the capacity are free', () => {
    const { capacity, set } = open();
    set('loud', 50);
    expect(capacity.hasRecovered).toBe(false);
    capacity.admits('loud', 1);
    expect(capacity.hasRecovered).toBe(false);
    set('loud', 24);
    expect([capacity.hasRecovered, capacity.hasRecovered]).toEqual([true, false]);
  });
});
