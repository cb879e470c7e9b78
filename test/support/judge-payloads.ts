import { ATTEMPT_ERRORS, CHECK_CASE_NAMES, CHECK_RESULTS } from '../../src/platform/vocabulary.js';

const oneOf = (...words: readonly string[]) => new RegExp(`^(${words.join('|')})$`);
const STATUSES = ['CREATED', 'PROCESSING', 'SENT', 'COMPLETED', 'CANCELLED', 'FAILED', 'RETURNED'];
const REASONS = ['endpoint_disabled', 'endpoint_deleted', 'endpoint_gone', 'exhausted'];
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const HOST = '[a-z0-9.-]+(:\\d+)?';
const DESCRIPTION = '[^\\s/|<>`[\\]][^/|<>`[\\]]{0,32}';
/** Histories of 1.0.0 have the host alone. */
const RECEIVER = `(${DESCRIPTION} \\()?${HOST}\\)?( …[0-9a-f]{8})?`;
const OUTCOME = oneOf('\\d{3}', ...ATTEMPT_ERRORS);
const TIMES = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d{1,9})?Z';
const TIME = oneOf(TIMES);
const CASE = CHECK_CASE_NAMES.join('|');
const STATUS = STATUSES.join('|');
const NUMBER = /^-?\d+(\.\d+)?$/;
const FLAG = oneOf('true', 'false');

/** The titles that people read in Temporal's UI. */
const SUMMARY = oneOf(
  `transfer\\.status_changed (${STATUS}) → (\\d+ endpoints?|${RECEIVER})`,
  `attempt \\d+ to ${RECEIVER}( waits \\d+(ms|s|m|h|d))?`,
  `recover \\d+ deliveries → ${RECEIVER}`,
  '\\d+ of \\d+ recovered',
  `check of the receiver → ${RECEIVER}`,
  `(${CASE}) → ${RECEIVER}`,
  `SANDBOX-[A-Z_-]+: (${STATUS})( → (${STATUS}))*`,
  `(${STATUS}) → (${STATUS})`,
  `(${STATUS}) after \\d+(ms|s|m|h|d)`,
  'removes what is older than RETENTION',
);

/** Every key that may hold a value in Temporal, and the form of the value: ids, hosts, states, counts and times. */
const ALLOWED: Readonly<Record<string, RegExp>> = {
  ...Object.fromEntries(
    ['eventId', 'clientId', 'deliveryId', 'webhookId', 'checkId', 'transferId', 'after'].map((key) => [key, ID]),
  ),
  ...Object.fromEntries(
    [
      ...['attemptCount', 'wait', 'since', 'until', 'count', 'missing', 'pending'],
      ...['batchesPerRun', 'recovered', 'removed', 'stepDelay', 'createdAt', 'seq', 'attempt', 'seconds', 'nanos'],
      ...['activity_id', 'backoff'],
    ].map((key) => [key, NUMBER]),
  ),
  ...Object.fromEntries(['endpointActive', 'includeMissing', 'includePending', 'deprecated'].map((key) => [key, FLAG])),
  title: oneOf(`transfer\\.status_changed (${STATUS})`),
  host: oneOf(HOST),
  description: oneOf(DESCRIPTION),
  receiver: oneOf(RECEIVER),
  status: oneOf('pending', 'succeeded', 'failed', 'cancelled', ...STATUSES),
  statuses: oneOf(...STATUSES),
  reason: oneOf(...REASONS),
  lastOutcome: OUTCOME,
  nextAttemptAt: TIME,
  made: oneOf('true', 'false', '\\d+'),
  cases: oneOf(...CHECK_CASE_NAMES),
  name: oneOf(...CHECK_CASE_NAMES),
  phase: oneOf('pending', 'ended', 'missing'),
  workflowId: new RegExp(ID.source.replace('^', '^(recover|again)-')),
  /** A name of `patched()`. */
  id: /^[a-z-]+$/,
  activity_type: oneOf('sandboxStep', 'readDeliveries'),
  summary: SUMMARY,
  result: oneOf('\\d+', ...CHECK_RESULTS, ...CHECK_CASE_NAMES, ...STATUSES),
  failure: oneOf(
    `${RECEIVER}: (${REASONS.join('|')}) after \\d+ attempts, the last: (\\d{3}|${ATTEMPT_ERRORS.join('|')})`,
    'no slot is free for this receiver or this client, or another process makes the attempt; it is queued',
    `attempt \\d+ to ${RECEIVER}: (\\d{3}|${ATTEMPT_ERRORS.join('|')}); (next attempt at ${TIMES}|the delivery is (failed|cancelled|succeeded))`,
  ),
  failureType: oneOf('LadderExhausted', 'AttemptFailed', 'NoSlot'),
  ClientId: ID,
  TransferId: ID,
  WebhookIds: ID,
  EventType: /^[a-z_]+\.[a-z_]+$/,
  DeliveryState: oneOf('delivered', 'retrying', 'exhausted', 'cancelled'),
  TemporalChangeVersion: /^[a-z-]+$/,
};

/**
 * Judges everything in a history that comes from the service: payloads (inputs, results, summaries, memos, search
 * attributes, markers) and the messages of failures. @returns what no rule allows, with its key
 */
export function judgePayloads(history: unknown): string[] {
  const bad: string[] = [];
  const judge = (value: unknown, key: string): void => {
    if (value === null) return;
    if (Array.isArray(value)) for (const item of value) judge(item, key);
    else if (typeof value === 'object') for (const [name, item] of Object.entries(value)) judge(item, name);
    else if (!(Object.hasOwn(ALLOWED, key) && ALLOWED[key]?.test(String(value)))) bad.push(`${key}: ${value}`);
  };
  const walk = (value: unknown, key: string): void => {
    if (!(value instanceof Object)) return;
    const { data, metadata, message, stackTrace, applicationFailureInfo } = value as Record<string, unknown>;
    if (metadata instanceof Object && 'encoding' in metadata) {
      judge(parse(String(data ?? '')), key);
      return;
    }
    if (typeof message === 'string' && /failure$/i.test(key)) {
      judge(message, 'failure');
      if (stackTrace) bad.push(`stackTrace: ${stackTrace}`);
      judge((applicationFailureInfo as { type?: string } | undefined)?.type ?? null, 'failureType');
    }
    for (const [name, item] of Object.entries(value)) {
      // The items of a list of payloads have the key of what holds the list.
      walk(item, Array.isArray(value) || name === 'payloads' ? key : name);
    }
  };
  walk(history, '');
  return bad;
}

/** Nothing (`binary/null`) is null. A payload that is no JSON is judged as the text that it is. */
function parse(base64: string): unknown {
  if (base64 === '') return null;
  const text = Buffer.from(base64, 'base64').toString();
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
