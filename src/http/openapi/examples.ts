import type { z } from 'zod';

type JsonSchema = z.core.JSONSchema.BaseSchema;
type Json = Record<string, unknown>;

const TIME = '2026-11-21T10:00:00.123Z';
const LATER = '2026-11-21T10:00:00.210Z';
const [TRANSFER, EVENT, DELIVERY] = ['a11', 'b22', 'c33'].map((end) => `019abe01-7a10-7c44-9d02-3f1f6f0c8${end}`);

/** Ids by the names of fields, so that what refers to something else has another id. */
const IDS: Readonly<Record<string, unknown>> = {
  transfer_id: TRANSFER,
  event_id: EVENT,
  webhookId: '019abe00-11c2-7d0e-8a57-5b2f9c3d4e10',
  client_id: '019abdff-02a4-7f3b-b1c6-9d8e7f605142',
  secret_id: '019abdff-02a5-7a91-8c2d-1e3f5a7b9c0d',
};

const made = { number: 1, trigger: 'schedule', started_at: TIME, duration_ms: 87, response_status: 204, error: null };
const ended = { id: DELIVERY, attempt_count: 1, finished_at: LATER, transfer_status: 'SENT', planned_attempts: [] };
const window = { since: '2026-11-20T08:00:00.000Z', until: '2026-11-21T08:00:00.000Z' };

/** What the examples of single fields do not say together, by the schema that has the fields. */
const OF_SCHEMA: Readonly<Record<string, Json>> = {
  ReadinessChecks: { postgres: 'ok', migrations: 'applied', temporal: 'ok' },
  Token: { access_token: 'eyJhbGciOiJSUzI1NiIsInR5cCI6ImF0K2p3dCJ9.eyJzdWIiOiIwMTlhYmRmZiJ9.c2lnbmF0dXJl' },
  JwkSet: { keys: [{ kty: 'RSA', kid: '2026-11', use: 'sig', alg: 'RS256', n: '0vx7agoebGcQSuu', e: 'AQAB' }] },
  WebhookEndpoint: { enabled: true },
  WebhookEndpointHealth: { last_success_at: TIME, response_ms_24h: { p50: 85, p95: 240 } },
  AttemptCounts: { succeeded: 12 },
  Statement: {
    ...{ ...window, periods_known_since: window.since, complete: true, final: true, disabled_periods: [] },
    signature: 'eyJhbGciOiJSUzI1NiIsInR5cCI6InN0YXRlbWVudCtqd3QifQ.eyJldmVudHMiOjB9.c2lnbmF0dXJl',
  },
  Transfer: { id: TRANSFER },
  TransferWithHistory: { id: TRANSFER },
  OperatorTransfer: { id: TRANSFER },
  OperatorTransferWithHistory: { id: TRANSFER },
  Event: { id: EVENT },
  TransferStatusChangedData: { id: TRANSFER },
  DeliveryCounts: { succeeded: 1 },
  Delivery: { ...ended, last_attempt: made },
  DeliveryWithAttempts: ended,
  Attempt: { ...made, response_headers: { server: 'nginx' }, detail: null },
  Recovery: { ...window, count: 12, started: 12, status: 'completed', finished_at: LATER },
  ReceiverCheck: { status: 'running' },
  ReceiverCheckCase: {
    ...{ name: 'valid', expected: '2xx', response_status: 204, error: null, passed: true, hint: null },
  },
};

/** What the response of an operation says about the change that it made. */
const OF_OPERATION: Readonly<Record<string, Json>> = {
  cancelTransfer: { status: 'CANCELLED', reason_code: 'customer_request', updated_at: LATER },
  setTransferStatus: { status: 'PROCESSING', updated_at: LATER },
  setSandboxTransferStatus: { status: 'PROCESSING', updated_at: LATER },
  recoverWebhookEndpoint: { id: DELIVERY, count: 12 },
  cancelRecovery: { status: 'cancelled', started: 3 },
};

/**
 * The example of a successful response, of the form of `schema`, whose parts are named in `schemas`. A mock sends it:
 * made of the examples of single fields, it would contradict itself.
 */
export function exampleOf(
  schema: JsonSchema,
  schemas: Readonly<Record<string, JsonSchema>>,
  operation: string,
): unknown {
  const example = (one: JsonSchema, name = ''): unknown => {
    const id = one.$ref?.split('/').at(-1);
    if (id !== undefined) {
      const whole = example(schemas[id] ?? {}, name);
      return isObject(whole) ? pick({ ...whole, ...OF_SCHEMA[id] }, whole) : whole;
    }
    const { properties, items, anyOf = [], enum: values = [], minimum, examples = values, format, type } = one;
    if (format === 'uuid' && name in IDS) return IDS[name];
    const mayBeNull = [type].flat().includes('null') || anyOf.some((part) => part.type === 'null');
    if (mayBeNull && format === 'date-time') return null;
    if (examples.length > 0) return examples[0];
    if (properties) {
      return Object.fromEntries(
        Object.entries(properties).map(([each, inner]) => [each, example(inner as JsonSchema, each)]),
      );
    }
    if (items) return [example(items as JsonSchema, name)];
    if (mayBeNull) return null;
    if (anyOf[0]) return example(anyOf[0], name);
    return { boolean: false, integer: minimum ?? 0, object: {} }[String(type)] ?? 'text';
  };
  const whole = example(schema);
  return isObject(whole) ? { ...whole, ...OF_OPERATION[operation] } : whole;
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The fields of `given` that `known` has. */
const pick = (given: Json, known: Json): Json =>
  Object.fromEntries(Object.keys(known).map((name) => [name, given[name]]));
