import { InFlightLimit } from '../../src/workflow-starts/in-flight-limit.js';

/** A limit of 40 attempts, and how often it has reported capacity. */
function open(hasSlot = (_: string) => true) {
  const limit = new InFlightLimit({ size: 40, forgottenAfter: 10_000, hasSlot, saturatedPause: 2_000 });
  const reports = { count: 0 };
  limit.onCapacity(() => reports.count++);
  return { limit, reports };
}

describe('InFlightLimit', () => {
  it('holds a client back while its attempts have not arrived, and no other client', () => {
    const { limit, reports } = open();
    expect(limit.admit('loud', 41, 0)).toBe(true);
    expect([limit.admit('loud', 1, 1), limit.admit('quiet', 1, 1)]).toEqual([false, true]);
    limit.arrived('loud');
    expect([limit.admit('loud', 1, 2), reports.count]).toEqual([false, 0]);
    limit.arrived('loud');
    expect([limit.admit('loud', 1, 3), reports.count]).toEqual([true, 1]);
  });

  it('reports nothing for a client that has no attempt in flight', () => {
    const { limit, reports } = open();
    limit.arrived('quiet');
    expect(reports.count).toBe(0);
  });

  it('admits an event with more attempts than the limit when none is in flight, and not on top of others', () => {
    expect(open().limit.admit('c', 60, 0)).toBe(true);
    const { limit } = open();
    limit.admit('c', 1, 0);
    expect([limit.admit('c', 40, 1), limit.admit('c', 39, 1)]).toEqual([false, true]);
  });

  it('always admits an event without attempts, and counts nothing for it', () => {
    const { limit } = open();
    limit.admit('c', 40, 0);
    expect([limit.admit('c', 0, 1), limit.admit('c', 1, 1)]).toEqual([true, false]);
  });

  it('forgets an attempt that does not arrive within ten seconds: another worker had it, or it was cancelled', () => {
    const { limit } = open();
    limit.admit('c', 39, 0);
    limit.admit('c', 1, 9_000);
    expect([limit.admit('c', 1, 10_000), limit.admit('c', 39, 10_001)]).toEqual([false, true]);
    expect([limit.admit('c', 1, 10_002), limit.admit('c', 1, 19_001)]).toEqual([false, true]);
  });

  it('admits one start every two seconds for a client without a slot, and all again when it has one', () => {
    let free = false;
    const { limit } = open((clientId) => free || clientId !== 'slow');
    const admitted = (times: number[]) => times.map((now) => limit.admit('slow', 1, now));
    expect(admitted([0, 1, 1_999, 2_000, 2_001])).toEqual([true, false, false, true, false]);
    expect(limit.admit('other', 1, 2_001)).toBe(true);
    free = true;
    expect(admitted([2_002, 2_003])).toEqual([true, true]);
  });
});
