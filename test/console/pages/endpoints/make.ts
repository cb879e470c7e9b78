import type { Endpoint } from '../../../../src/console/pages/endpoints/endpoint.js';
import type { EndpointHealth } from '../../../../src/endpoints/health.js';

export const NOW = new Date('2026-11-22T06:30:00Z');

export function endpoint(fields: Partial<Endpoint> = {}): Endpoint {
  return {
    webhookId: '019abe01-7a10-7c44-9d02-3f1f6f0c8a11',
    url: 'https://example.com/hooks',
    description: 'Orders, live',
    max_concurrency: null,
    max_per_second: null,
    signatures: [],
    headers: [],
    enabled: true,
    disabled_reason: null,
    created_at: '2026-11-20T06:00:00.000Z',
    updated_at: '2026-11-20T06:00:00.000Z',
    ...fields,
  };
}

export function health(fields: Partial<EndpointHealth> = {}): EndpointHealth {
  const hours = Array.from({ length: 24 }, (_, i) => ({
    start: new Date(NOW.getTime() - (23 - i) * 3_600_000),
    succeeded: 1,
    failed: 0,
  }));
  return {
    hours,
    succeeded: 24,
    failed: 0,
    answerTime: { p50: 12, p95: 1_300 },
    lastSuccessAt: new Date('2026-11-22T06:28:00Z'),
    lastFailure: null,
    failingSince: null,
    pending: { count: 0, more: false, nextAttemptAt: null },
    pendingSince: null,
    ended: { count: 0, more: false },
    slowedUntil: null,
    ...fields,
  };
}
