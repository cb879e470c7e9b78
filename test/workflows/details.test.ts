import { describe, expect, it } from '@jest/globals';
import type { DeliveryProgress } from '../../workflows/deliver-event.input.js';
import { detailsOf, failureOf } from '../../workflows/details.js';

const delivery = (differs: Partial<DeliveryProgress>): DeliveryProgress => ({
  deliveryId: 'd',
  webhookId: '01a22412-20e7-721c-88c2-c32954ffaf06',
  host: 'hooks.example.com',
  description: null,
  status: 'succeeded',
  reason: null,
  attemptCount: 1,
  lastOutcome: '204',
  nextAttemptAt: null,
  wait: null,
  ...differs,
});

describe("the details in Temporal's UI", () => {
  it('are a table with a row for each delivery, and the next attempt to the second', () => {
    const sleeping = delivery({
      status: 'pending',
      attemptCount: 2,
      lastOutcome: '500',
      nextAttemptAt: '2026-11-21T13:15:47.121Z',
    });
    const cancelled = delivery({
      description: 'Ledger',
      status: 'cancelled',
      reason: 'endpoint_deleted',
      lastOutcome: null,
    });
    expect(
      detailsOf([delivery({}), sleeping, cancelled])
        .split('\n')
        .slice(2),
    ).toEqual([
      '| hooks.example.com …54ffaf06 | succeeded | 1 | 204 | – |',
      '| hooks.example.com …54ffaf06 | pending | 2 | 500 | 2026-11-21 13:15:47 UTC |',
      '| Ledger (hooks.example.com) …54ffaf06 | cancelled (endpoint_deleted) | 1 | – | – |',
    ]);
  });

  it('name the failed deliveries of a failed event, and no others, in one line', () => {
    const exhausted = delivery({
      host: 'a.example.com',
      status: 'failed',
      reason: 'exhausted',
      attemptCount: 7,
      lastOutcome: 'timeout',
    });
    const gone = delivery({ host: 'b.example.com', status: 'failed', reason: 'endpoint_gone', lastOutcome: '410' });
    expect(failureOf([exhausted, delivery({}), gone])).toBe(
      'a.example.com …54ffaf06: exhausted after 7 attempts, the last: timeout; b.example.com …54ffaf06: endpoint_gone after 1 attempt, the last: 410',
    );
  });
});
