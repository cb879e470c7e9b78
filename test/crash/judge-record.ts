import type { Arrival } from './receiver.js';
import type { AttemptRow, DeliveryRow, Record } from './record.js';

export interface Judgement {
  /** A line for each loss and each untrue record. */
  faults: string[];
  /** Requests that arrived and that no attempt records: the worker died between the POST and its record. */
  unrecorded: number;
  /** Further 2xx responses to a delivery without a request for a retry: deliveries that a receiver sees twice. */
  duplicates: number;
}

/**
 * Compares the record with the receiver's requests, once the service is quiet.
 * @param rungs number of attempts on a ladder
 */
export function judgeRecord(record: Record, arrivals: readonly Arrival[], rungs: number): Judgement {
  const faults: string[] = [];
  const fault = (what: string, id: string) => faults.push(`${what}: ${id}`);
  for (const id of record.halfChanged) fault('a transfer whose status, history and events do not agree', id);
  for (const id of record.undirected) fault('an event with no delivery for an endpoint that was enabled', id);
  for (const { id, outbox } of record.events) if (outbox !== null) fault(`an event left in the outbox (${outbox})`, id);

  const bodies = new Map(record.events.map(({ id, body }) => [id, body]));
  for (const arrival of arrivals) {
    if (!arrival.validSignature) fault('a wrong signature', arrival.event);
    if (arrival.body !== bodies.get(arrival.event)) fault('a body that is not the event’s', arrival.event);
  }

  const attemptsOf = groupBy(record.attempts, ({ delivery }) => delivery);
  const arrivalsOf = groupBy(arrivals, ({ path, event }) => `${path} ${event}`);
  let unrecorded = 0;
  let duplicates = 0;
  for (const delivery of record.deliveries) {
    const attempts = attemptsOf.get(delivery.id) ?? [];
    const seen = arrivalsOf.get(`${delivery.path} ${delivery.event}`) ?? [];
    for (const what of faultsOf(delivery, attempts, seen, rungs)) fault(what, delivery.id);
    const recorded = new Set(attempts.map(({ t }) => t));
    unrecorded += seen.filter(({ t }) => !recorded.has(t)).length;
    const askedFor = attempts.filter(({ trigger, error }) => error === null && trigger !== 'schedule').length;
    duplicates += Math.max(0, seen.filter(isSuccess).length - Math.max(1, askedFor + 1));
  }
  return { faults, unrecorded, duplicates };
}

function* faultsOf(
  { status, attemptCount, rung }: DeliveryRow,
  attempts: readonly AttemptRow[],
  seen: readonly Arrival[],
  rungs: number,
): Generator<string> {
  if (status === 'pending') yield 'a delivery that is still pending';
  if (attempts.length !== attemptCount || attempts.some(({ number }, i) => number !== i + 1)) {
    yield `attempts ${attempts.map(({ number }) => number)} of ${attemptCount}`;
  }
  const byTime = new Map(seen.map((arrival) => [arrival.t, arrival]));
  for (const { number, t, responseStatus, error } of attempts) {
    const arrival = byTime.get(t);
    if (responseStatus !== null && responseStatus !== arrival?.answered) {
      yield `attempt ${number} records ${responseStatus}, the receiver ${arrival ? `returned ${arrival.answered}` : 'got no request'}`;
    }
    if ((error === null) !== (responseStatus !== null && responseStatus < 300)) {
      yield `attempt ${number} records ${responseStatus} and ${error}`;
    }
  }
  const succeeded = attempts.some(({ error }) => error === null);
  // The attempts of the current ladder are among the last ones.
  const succeededOnLadder = attempts.slice(attempts.length - rung).some(({ error }) => error === null);
  if (status === 'succeeded' && !succeeded) yield 'succeeded without a successful attempt';
  if (status === 'succeeded' && !seen.some(isSuccess)) yield 'succeeded, but the receiver never returned a 2xx';
  if (status === 'failed' && succeededOnLadder) yield 'failed with a successful attempt';
  const gone = attempts.at(-1)?.responseStatus === 410;
  if (status === 'failed' && !gone && Math.min(rung, attemptCount) < rungs) {
    yield `failed after ${rung} attempts of ${rungs}`;
  }
}

const isSuccess = ({ answered }: Arrival) => answered !== null && answered >= 200 && answered < 300;

function groupBy<Row>(rows: readonly Row[], keyOf: (row: Row) => string): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const key = keyOf(row);
    const group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, [row]);
  }
  return groups;
}
