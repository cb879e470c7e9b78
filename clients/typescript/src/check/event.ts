/**
 * Whether an event is of a check of your receiver, and of no transfer: the id of its transfer has the time 0. A
 * receiver may accept it without storing it.
 */
export function isCheckEvent(event: { data?: { id?: unknown } | null }): boolean {
  return String(event.data?.id).startsWith('00000000-0000-7');
}
