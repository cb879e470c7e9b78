import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Notice } from '../../src/outbox/notice.js';
import { takeTurns } from '../../src/outbox/take-turns.js';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

function worker() {
  const looked: Notice[] = [];
  const turns = takeTurns({ hasTurn: (turn) => turn % 2 === 0, look: (notice) => void looked.push(notice) });
  return { looked, turns };
}
const notice = (turn: number | null, kind: 'attempt' | 'start' = 'attempt') => ({
  attempt: kind === 'attempt',
  start: kind === 'start',
  turn,
});

describe('takeTurns', () => {
  it('looks at once when it is the turn of this worker, or of every worker', () => {
    const { looked, turns } = worker();
    turns.onNotice(notice(2));
    turns.onNotice(notice(null));
    expect(looked).toEqual([notice(2), notice(null)]);
  });

  it('looks once, later, for all notices that are the turn of another worker, which may be dead', () => {
    const { looked, turns } = worker();
    turns.onNotice(notice(1));
    turns.onNotice(notice(3, 'start'));
    expect(looked).toEqual([]);
    jest.runAllTimers();
    expect(looked).toEqual([{ attempt: true, start: true, turn: null }]);
    turns.onNotice(notice(1));
    jest.runAllTimers();
    expect(looked).toHaveLength(2);
  });

  it('looks no more after it was stopped', () => {
    const { looked, turns } = worker();
    turns.onNotice(notice(1));
    turns.stop();
    jest.runAllTimers();
    expect(looked).toEqual([]);
  });
});
