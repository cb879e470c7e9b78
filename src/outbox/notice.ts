/** What a notification says to the workers. */
export interface Notice {
  /** Whether events were committed whose first attempts are due, and events that are due for a workflow start. */
  attempt: boolean;
  start: boolean;
  /** A random number that names the worker whose turn it is; null: every worker's. */
  turn: number | null;
}

/** Notices of a connection that may have missed some, and of processes of a release that says nothing more. */
export const ANYTHING: Notice = { attempt: true, start: true, turn: null };

/** Turns are whole numbers below this. */
export const TURNS = 65_536;

/** Writes a notice as the payload of NOTIFY. */
export function writeNotice({ attempt, start, turn }: Notice): string {
  return [attempt ? 'attempt' : '', start ? 'start' : '', turn ?? ''].join(' ');
}

/** Reads the payload of NOTIFY. A payload of any other form means that anything may be due. */
export function readNotice(payload: string | undefined): Notice {
  const [, attempt, start, turn] = /^(attempt)? (start)? (\d{1,5})?$/.exec(payload ?? '') ?? [];
  if (!attempt && !start) return ANYTHING;
  return { attempt: attempt !== undefined, start: start !== undefined, turn: turn === undefined ? null : Number(turn) };
}

/** Merges two notices. The result is every worker's turn. */
export function mergeNotices(one: Notice, other: Notice): Notice {
  return { attempt: one.attempt || other.attempt, start: one.start || other.start, turn: null };
}
