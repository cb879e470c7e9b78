import { type Load, UNANSWERED } from './load.js';
import type { Record } from './record.js';

/** Checks that the responses to changes agree with the record. judge-record.ts checks that each event arrived. */
export function judgeChanges(
  { created, asked, simulated = [] }: Pick<Load, 'created' | 'asked'> & Partial<Pick<Load, 'simulated'>>,
  record: Record,
) {
  const made = new Map<string, number>();
  for (const { transfer, body } of record.events) {
    const { data } = JSON.parse(body) as { data: { status: string } };
    const change = `${transfer} ${data.status}`;
    made.set(change, (made.get(change) ?? 0) + 1);
  }
  const faults: string[] = [];
  const known = new Set(created);
  for (const id of record.transfers) if (!known.delete(id)) faults.push(`a transfer that one key made twice: ${id}`);
  for (const id of known) faults.push(`an acknowledged transfer that does not exist: ${id}`);
  let acknowledged = 0;
  let madeUnacknowledged = 0;
  for (const { transfer, to, answer, keyed } of asked) {
    const change = `${transfer} ${to}`;
    const events = made.get(change) ?? 0;
    if (answer === 200) acknowledged++;
    else if (events > 0) madeUnacknowledged++;
    if (answer === 200 && events === 0) faults.push(`an acknowledged change without an event: ${change}`);
    if (events > 1) faults.push(`${events} events for one change: ${change}`);
    if (answer !== 200 && (keyed || !UNANSWERED.includes(answer))) faults.push(`answered ${answer}: ${change}`);
  }
  for (const id of simulated) {
    for (const status of ['PROCESSING', 'SENT', 'COMPLETED']) {
      const events = made.get(`${id} ${status}`) ?? 0;
      if (events !== 1) faults.push(`${events} events for a step of a simulated transfer: ${id} ${status}`);
    }
  }
  return { faults, acknowledged, madeUnacknowledged };
}
