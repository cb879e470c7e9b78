const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether `text` has the form of a UUID. A path with any other text is not found. */
export function isId(text: string): boolean {
  return UUID.test(text);
}
