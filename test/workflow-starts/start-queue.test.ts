import { StartQueue } from '../../src/workflow-starts/start-queue.js';

const fill = (queue: StartQueue, clientId: string, count: number) =>
  Array.from({ length: count }, (_, i) => queue.push({ clientId, eventId: `${clientId}${i}`, attempts: 1 })).filter(
    Boolean,
  ).length;

const all = () => true;
const ids = (events: { eventId: string }[]) => events.map(({ eventId }) => eventId);

describe('StartQueue', () => {
  it('serves clients in turn, the oldest event of each first, and continues where it stopped', () => {
    const queue = new StartQueue(100);
    fill(queue, 'a', 4);
    fill(queue, 'b', 2);
    fill(queue, 'c', 1);
    expect(ids(queue.take(2, all))).toEqual(['a0', 'b0']);
    expect(ids(queue.take(3, all))).toEqual(['c0', 'a1', 'b1']);
    expect(ids(queue.take(100, all))).toEqual(['a2', 'a3']);
    expect([queue.size, queue.take(1, all)]).toEqual([0, []]);
  });

  it('names the clients with at least so many waiting events', () => {
    const queue = new StartQueue(100);
    fill(queue, 'a', 4);
    fill(queue, 'b', 3);
    expect([queue.saturated(4), queue.saturated(5)]).toEqual([['a'], []]);
  });

  it('keeps capacity for other clients, however many events one client has', () => {
    const queue = new StartQueue(100);
    expect(fill(queue, 'loud', 1_000)).toBe(50);
    expect(fill(queue, 'other', 1_000)).toBe(25);
    expect(queue.push({ clientId: 'quiet', eventId: 'q', attempts: 1 })).toBe(true);
    expect(queue.size).toBe(76);
    expect(ids(queue.take(3, all))).toEqual(['loud0', 'other0', 'q']);
  });

  it('passes over clients whose next event is refused, and keeps their events', () => {
    const queue = new StartQueue(100);
    fill(queue, 'full', 2);
    fill(queue, 'a', 2);
    fill(queue, 'b', 1);
    expect(ids(queue.take(10, ({ clientId }) => clientId !== 'full'))).toEqual(['a0', 'b0', 'a1']);
    expect(ids(queue.take(10, () => false))).toEqual([]);
    expect([queue.size, ids(queue.take(10, all))]).toEqual([2, ['full0', 'full1']]);
  });
});
