/** The value of a field for a time, in UTC: `2026-11-22T06:14:03`. */
export function timeValue(at: Date): string {
  return at.toISOString().slice(0, 19);
}

/** The time of a field as the API reads it. A field has no zone, and its label says UTC; a zone that was typed stays. */
export function timeOfField(text: string): string {
  if (/[Zz]$|[+-]\d\d:\d\d$/.test(text)) return text;
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(text) ? `${text}:00Z` : `${text}Z`;
}
