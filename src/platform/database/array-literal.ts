/**
 * A Postgres array of ids, times, numbers, booleans or names, as its text form. `pg` writes an array of JavaScript with
 * quotes and escapes around each element, which is the dearest part of a batch's parameters.
 * @param values without quotes, commas, braces, backslashes, spaces and the word `null`
 */
export function arrayLiteral(values: readonly (string | number | boolean | null)[]): string {
  return `{${values.map((value) => value ?? 'NULL').join()}}`;
}
