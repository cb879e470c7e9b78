import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { denotesExactly } from '../../src/http/body.js';

describe('denotesExactly', () => {
  it('is true for every form of an integer', () => {
    const shift = fc.integer({ min: 0, max: 30 });
    fc.assert(
      fc.property(fc.maxSafeInteger(), shift, fc.constantFrom('e', 'E'), (value, places, e) => {
        expect(denotesExactly(`${value}.${'0'.repeat(places + 1)}`, value)).toBe(true);
        expect(denotesExactly(`${value}${'0'.repeat(places)}${e}-${places}`, value)).toBe(true);
        const digits = String(Math.abs(value)).padStart(places + 2, '0');
        const fraction = `${digits.slice(0, -places - 1)}.${digits.slice(-places - 1)}`;
        expect(denotesExactly(`${value < 0 ? '-' : ''}${fraction}${e}+${places + 1}`, value)).toBe(true);
      }),
    );
  });

  it('is false for an integer with any fraction', () => {
    const fraction = fc.bigInt({ min: 1n, max: 10n ** 40n }).map((digits) => String(digits).padStart(41, '0'));
    fc.assert(
      fc.property(fc.maxSafeInteger(), fraction, (value, digits) => {
        expect(denotesExactly(`${value}.${digits}`, value)).toBe(false);
        expect(denotesExactly(`${value}${digits}e-41`, value)).toBe(false);
      }),
    );
  });

  it('is false for a number that is rounded to 0, and true for each form of 0', () => {
    expect(denotesExactly('1e-400', 0)).toBe(false);
    for (const zero of ['0.0', '-0.0', '0e5', '0.00E-999999999999']) expect(denotesExactly(zero, 0)).toBe(true);
  });

  it('reads a number as long as a body', () => {
    const zeros = '0'.repeat(65_000);
    expect(denotesExactly(`1.${zeros}`, 1)).toBe(true);
    expect(denotesExactly(`1.${zeros}1`, 1)).toBe(false);
    expect(denotesExactly(`1${zeros}e-65000`, 1)).toBe(true);
    expect(denotesExactly(`1e${'9'.repeat(65_000)}`, 1)).toBe(false);
    expect(denotesExactly(`1e-${zeros}`, 1)).toBe(true);
  });
});
