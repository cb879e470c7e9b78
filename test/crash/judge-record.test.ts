import { spawnSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { judgeChanges } from './judge-changes.js';
import { judgeRecord } from './judge-record.js';
import type { Arrival } from './receiver.js';
import type { AttemptRow, DeliveryRow, Record } from './record.js';

// The judges of the crash runs must find every kind of loss. Otherwise a run without faults proves nothing.

const body = JSON.stringify({ data: { status: 'SENT' } });
const attempt = (n: number, fields: Partial<AttemptRow> = {}): AttemptRow => {
  return { delivery: 'd', number: n, trigger: 'schedule', t: `t${n}`, responseStatus: 500, error: 'status', ...fields };
};
const success = { responseStatus: 204, error: null };
const arrival = (n: number, fields: Partial<Arrival> = {}): Arrival => {
  const common = { path: '/in', event: 'e', transfer: 'x', status: 'SENT' };
  return { ...common, t: `t${n}`, body, validSignature: true, answered: 500, ...fields };
};
const delivery: DeliveryRow = {
  id: 'd',
  event: 'e',
  path: '/in',
  status: 'succeeded',
  attemptCount: 2,
  rung: 1,
};
const record: Record = {
  transfers: ['x'],
  events: [{ id: 'e', transfer: 'x', body, outbox: null }],
  deliveries: [delivery],
  attempts: [attempt(1), attempt(2, success)],
  halfChanged: [],
  undirected: [],
};
const arrivals = [arrival(1), arrival(2, { answered: 204 })];

// It imported Jest's `expect`, which throws outside of Jest.
test('regression: npm run test:crash loads', () => {
  expect(spawnSync(process.execPath, ['dist/test/crash/main.js', '--help']).status).toBe(0);
});

test('finds no fault in a true record', () => {
  expect(judgeRecord(record, arrivals, 3)).toEqual({ faults: [], unrecorded: 0, duplicates: 0 });
});

test('counts unrecorded requests, and counts a second success as a duplicate', () => {
  const lost = arrival(9, { answered: 204 });
  expect(judgeRecord(record, [...arrivals, lost], 3)).toEqual({ faults: [], unrecorded: 1, duplicates: 1 });
});

const withDelivery = (fields: Partial<DeliveryRow>) => ({ ...record, deliveries: [{ ...delivery, ...fields }] });

test.each<[string, Record, Arrival[]]>([
  ['half a change', { ...record, halfChanged: ['x'] }, arrivals],
  ['an event with no delivery', { ...record, undirected: ['e'] }, arrivals],
  ['an event in the outbox', { ...record, events: [{ id: 'e', transfer: 'x', body, outbox: 'start' }] }, arrivals],
  ['a wrong signature', record, [arrival(1, { validSignature: false }), ...arrivals.slice(1)]],
  ['another body', record, [arrival(1, { body: '{}' }), ...arrivals.slice(1)]],
  ['an event that does not exist', record, [...arrivals, arrival(3, { event: 'ghost' })]],
  ['a pending delivery', withDelivery({ status: 'pending' }), arrivals],
  ['a gap between attempts', { ...record, attempts: [attempt(2, success)] }, arrivals],
  ['an attempt that is not counted', withDelivery({ attemptCount: 1 }), arrivals],
  ['an attempt that the receiver never saw', record, arrivals.slice(1)],
  ['another response than the receiver’s', record, [arrival(1, { answered: 503 }), ...arrivals.slice(1)]],
  ['success without a successful attempt', { ...record, attempts: [attempt(1), attempt(2)] }, [arrival(1), arrival(2)]],
  ['failure after a success', withDelivery({ status: 'failed', rung: 3 }), arrivals],
  [
    'failure before the ladder’s end',
    { ...withDelivery({ status: 'failed', rung: 2 }), attempts: [attempt(1), attempt(2)] },
    [arrival(1), arrival(2)],
  ],
])('finds a fault: %s', (_, changed, seen) => {
  expect(judgeRecord(changed, seen, 3).faults).not.toEqual([]);
});

test.each([
  ['an acknowledged change that was not made', { transfer: 'y', to: 'SENT', answer: 200, keyed: false }],
  ['a change that was refused for no reason', { transfer: 'x', to: 'SENT', answer: 500, keyed: false }],
  ['a refusal of a change that was made with the same key', { transfer: 'x', to: 'SENT', answer: 409, keyed: true }],
])('finds a fault: %s', (_, asked) => {
  expect(judgeChanges({ created: ['x'], asked: [asked] }, record).faults).not.toEqual([]);
});

test('finds a lost transfer and a transfer that a repeated key made twice', () => {
  expect(judgeChanges({ created: ['x', 'y'], asked: [] }, record).faults).toHaveLength(1);
  expect(judgeChanges({ created: [], asked: [] }, record).faults).toHaveLength(1);
});

test('accepts a change without a response whether it was made or not', () => {
  const asked = ['x', 'y'].map((transfer) => ({ transfer, to: 'SENT', answer: 0, keyed: false }));
  expect(judgeChanges({ created: ['x'], asked }, record)).toEqual({
    faults: [],
    acknowledged: 0,
    madeUnacknowledged: 1,
  });
});
