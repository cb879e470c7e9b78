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
    room: new LaneCapacity(slots, CAPACITY),
    set: (clientId: string, count: number) => waiting.set(clientId, count),
  };
}

describe('LaneRoom', () => {
  it('lets a client have as much waiting as there is room left', () => {
    const { room, set } = open();
    set('loud', 30);
    expect([room.free, room.admits('loud', 40), room.admits('loud', 41), room.admits('quiet', 70)]).toEqual([
      70,
      true,
      false,
      true,
    ]);
  });

  it('is crowded for a client that found none until that came down to half of the room', () => {
    const { room, set } = open();
    set('loud', 50);
    expect(room.saturated).toEqual([]);
    room.admits('loud', 1);
    expect(room.saturated).toEqual(['loud']);
    set('loud', 34);
    expect(room.saturated).toEqual(['loud']);
    set('loud', 33);
    expect(room.saturated).toEqual([]);
  });

  it('never keeps a client out of whom nothing waits, even where its event is larger than the room', () => {
    const { room, set } = open();
    set('other', 100);
    expect(room.admits('c', 1)).toBe(false);
    expect(room.saturated).toEqual([]);
  });

  it('says once that there is room again, when three quarters are free', () => {
    const { room, set } = open();
    set('loud', 50);
    expect(room.hasRecovered).toBe(false);
    room.admits('loud', 1);
    expect(room.hasRecovered).toBe(false);
    set('loud', 24);
    expect([room.hasRecovered, room.hasRecovered]).toEqual([true, false]);
  });
});
