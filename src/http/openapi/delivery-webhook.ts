import { formatLadder } from '../../ladder.js';
import { EVENT_CATALOGUE, EVENT_TYPES, type EventType } from '../../webhooks/event-catalogue.js';

/**
 * The requests that the service sends to a registered URL (spec §4, Delivery), by event type.
 * @param retryDelays in ms
 */
export function deliveryWebhooks(retryDelays: readonly number[]) {
  return Object.fromEntries(EVENT_TYPES.map((type) => [type, { post: deliveryOf(type, retryDelays) }]));
}

function deliveryOf(type: EventType, retryDelays: readonly number[]) {
  return {
    operationId: `receive${pascalCase(type)}`,
    tags: ['Events and deliveries'],
    summary: `Sent to your endpoint when ${EVENT_CATALOGUE[type].when}`,
    description:
      'Events are delivered at least once, and ordering is not guaranteed: discard duplicates by `id`. Verify `Service-Signature`: compute the HMAC-SHA256 of `t + "." + body` with the endpoint\'s secret, and refuse a `t` that is more than 5 minutes old. Respond with 2xx within 15 s. A 410 response disables the endpoint.',
    security: [],
    parameters: [
      header('Service-Signature', 't=2026-11-21T10:00:00.123Z,v0=<lowercase hex HMAC-SHA256>'),
      header('User-Agent', 'Service-Webhooks/1.0'),
    ],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: { $ref: '#/components/schemas/DeliveredEvent' } } },
    },
    responses: {
      '2XX': { description: `Received. After any other response the service retries: ${ladderInWords(retryDelays)}.` },
      '410': { description: 'The receiver no longer accepts events: the service disables the endpoint.' },
    },
  };
}

/** `at once, then after 5m, 30m, 2h, 6h, 24h` */
function ladderInWords(retryDelays: readonly number[]): string {
  const rungs = formatLadder(retryDelays).map((delay) => (delay === '0s' ? 'at once' : `after ${delay}`));
  return rungs.length === 0 ? 'never' : rungs.join(', ');
}

/** `transfer.status_changed` → `TransferStatusChanged` */
function pascalCase(type: string): string {
  return type.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function header(name: string, example: string) {
  return { name, in: 'header', required: true, schema: { type: 'string' }, example };
}
