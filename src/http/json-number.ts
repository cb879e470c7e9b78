/**
 * Whether a JSON number denotes exactly `value`, an integer of at most 2^53−1. `JSON.parse` rounds to the nearest
 * double: it returns 1 for `0.99999999999999999999`. Linear in the length of `source`, whatever its exponent.
 */
export function denotesExactly(source: string, value: number): boolean {
  return normalForm(source) === normalForm(String(value));
}

/**
 * The digits without zeros at either end, and the power of ten of the last digit: `'15e2'` for `1500` and `1.50e3`. The
 * sign is left out. The zeros are skipped by loops: the regular expression `/0+$/` takes quadratic time.
 */
function normalForm(number: string): string {
  const [, whole = '', fraction = '', exponent = '0'] = /^-?(\d+)(?:\.(\d+))?(?:e([-+]?\d+))?$/i.exec(number) ?? [];
  const digits = whole + fraction;
  let start = 0;
  while (digits[start] === '0') start++;
  let end = digits.length;
  while (end > start && digits[end - 1] === '0') end--;
  return start === end ? '0' : `${digits.slice(start, end)}e${Number(exponent) + whole.length - end}`;
}
