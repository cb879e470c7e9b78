import fc from 'fast-check';
import { isId, newId } from '../../src/platform/ids.js';

const instant = fc.integer({ min: 0, max: 2 ** 47 });

describe('ids', () => {
  it('are UUIDs of version 7 that sort by their time', () => {
    fc.assert(
      fc.property(instant, fc.integer({ min: 1, max: 10 ** 9 }), (at, later) => {
        expect(newId(at)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        expect(newId(at) < newId(at + later)).toBe(true);
      }),
    );
  });

  it('sort by when they were made, also within a millisecond', () => {
    fc.assert(
      fc.property(instant, (at) => {
        const ids = Array.from({ length: 50 }, () => newId(at));
        expect(ids.toSorted()).toEqual(ids);
      }),
    );
  });

  it('have a form that other text does not have', () => {
    expect(isId(newId())).toBe(true);
    for (const text of ['', 'x', newId().slice(1), `${newId()}0`, newId().replaceAll('-', '')]) {
      expect(isId(text)).toBe(false);
    }
  });
});
