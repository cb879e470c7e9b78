import { describe, expect, it } from '@jest/globals';
import { SpareSlots } from '../../src/express-lane/spare-slots.js';

const owner = { clientId: 'c', endpointId: 'e', max: 5 };
const row = (slot: number, contested = false) => ({ endpointId: 'e', slot, contested });
const busy = { spare: 2, share: 1, active: 3, waiting: 4 };

function holding(...slots: number[]): SpareSlots {
  const spare = new SpareSlots();
  for (const slot of slots) spare.add(owner, slot);
  return spare;
}

describe('SpareSlots', () => {
  it('keeps a slot while jobs wait or an attempt uses it', () => {
    const spare = holding(1);
    expect(spare.renew([row(1)], () => ({ ...busy, active: 0 }))).toEqual([]);
    expect(spare.renew([row(1)], () => ({ ...busy, active: 2, waiting: 0 }))).toEqual([]);
    expect(spare.usable('e')).toBe(1);
  });

  it('gives a slot back at once when no attempt needs it', () => {
    const spare = holding(1);
    expect(spare.renew([row(1)], () => ({ ...busy, active: 1, waiting: 0 }))).toEqual([{ endpointId: 'e', slot: 1 }]);
    expect([spare.usable('e'), spare.isEmpty, spare.givesWay('e')]).toEqual([0, true, false]);
  });

  it('gives a contested slot back after the attempt that uses it, and asks for none of the endpoint for a second', () => {
    const spare = holding(1, 2);
    expect(spare.renew([row(1, true), row(2)], () => busy, 1_000)).toEqual([]);
    expect(spare.usable('e')).toBe(1);
    expect(spare.takeGiven('e')).toEqual([{ endpointId: 'e', slot: 1 }]);
    expect(spare.usable('e')).toBe(1);
    expect([spare.givesWay('e', 1_999), spare.givesWay('e', 2_000)]).toEqual([true, false]);
  });

  it('gives back a slot that the endpoint has no more, since the number of workers changed', () => {
    const spare = holding(2);
    expect(spare.renew([row(2)], () => ({ ...busy, spare: 1, active: 1 }))).toEqual([{ endpointId: 'e', slot: 2 }]);
  });

  it('loses a slot whose row is gone, and gives back a row that it does not know', () => {
    const spare = holding(1);
    expect(spare.renew([row(2)], () => busy)).toMatchObject([{ endpointId: 'e', slot: 2 }]);
    expect(spare.usable('e')).toBe(0);
  });
});
