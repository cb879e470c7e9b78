import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { idCursor, numberCursor } from '../../src/http/cursor.js';

it('reads a cursor as the key that it was written for', () => {
  fc.assert(fc.property(fc.uuid(), (id) => idCursor.read(idCursor.write(id)) === id));
  fc.assert(fc.property(fc.nat(), (number) => numberCursor.read(numberCursor.write(number)) === number));
});

it('refuses a changed cursor', () => {
  const cursor = numberCursor.write(4_711);
  const changed = fc.tuple(fc.nat(cursor.length - 1), fc.base64String({ minLength: 4, maxLength: 4 }));
  fc.assert(
    fc.property(changed, ([at, text]) => {
      const other = cursor.slice(0, at) + text[0] + cursor.slice(at + 1);
      return other === cursor || numberCursor.read(other) === undefined;
    }),
  );
});

it('refuses a cursor of another kind of list and a long text', () => {
  expect(idCursor.read(numberCursor.write(1))).toBeUndefined();
  expect(numberCursor.read('A'.repeat(1_000_000))).toBeUndefined();
});
