import { formatLadder } from '../../ladder.js';
import { EVENT_CATALOGUE, EVENT_TYPES, type EventType } from '../../webhooks/event-catalogue.js';

/** What the service sends to a registered URL (spec §4, Delivery), by event type. @param retryDelays the ladder, ms */
export function deliveryWebhooks(retryDelays: readonly number[]) {
  return Object.fromEntries(EVENT_TYPES.map((type) => [type, { post: deliveryOf(type, retryDelays) }]));
}

function deliveryOf(type: EventType, retryDelays: readonly number[]) {
  return {
    operationId: `receive${pascalCase(type)}`,
    tags: ['Events and deliveries'],
    summary: `Sent to your endpoint when ${EVENT_CATALOGUE[type].when}`,
    description:
      'At least once; order is not promised; de-duplicate on `id`. Verify `Service-Signature`: HMAC-SHA256 of `t + "." + body` keyed with the endpoint\'s secret, and `t` at most 5 minutes old. Answer 2xx within 15 s; 410 disables the endpoint.',
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
      '2XX': { description: `Received. The service retries after any other answer: ${ladderInWords(retryDelays)}.` },
      '410': { description: 'Not wanted any more: the endpoint is disabled.' },
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
