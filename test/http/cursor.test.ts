import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { idCursor, numberCursor } from '../../src/http/paging.js';

const ids = idCursor('transfers');
const numbers = numberCursor('attempts');

it('reads a cursor as the key that it was written for', () => {
  fc.assert(fc.property(fc.uuid(), (id) => ids.read(ids.write(id)) === id));
  fc.assert(fc.property(fc.nat(), (number) => numbers.read(numbers.write(number)) === number));
});

it('rejects a changed cursor', () => {
  const cursor = numbers.write(4_711);
  const changed = fc.tuple(fc.nat(cursor.length - 1), fc.base64String({ minLength: 4, maxLength: 4 }));
  fc.assert(
    fc.property(changed, ([at, text]) => {
      const other = cursor.slice(0, at) + text[0] + cursor.slice(at + 1);
      return other === cursor || numbers.read(other) === undefined;
    }),
  );
});

it('rejects a cursor of another list, with the same kind of key or not, and a long text', () => {
  const id = '0192b8a0-0000-7000-8000-000000000000';
  expect(ids.read(numbers.write(1))).toBeUndefined();
  expect(numbers.read('A'.repeat(1_000_000))).toBeUndefined();
  expect(idCursor('events').read(ids.write(id))).toBeUndefined();
  expect(idCursor('transfers').read(ids.write(id))).toBe(id);
});
