import { describe, expect, it } from '@jest/globals';
import { eventBody, eventTitle } from '../../src/delivery/event-catalogue.js';

const id = '0192f0c1-2f3a-7b4c-8d5e-6f708192a3b4';
const transferId = '0192f0c1-1111-7222-8333-444455556666';
const type = 'transfer.status_changed';

describe('the body of an event', () => {
  it('has its bytes fixed: members in order, created_at with three fraction digits and no zone', () => {
    const createdAt = Date.UTC(2026, 10, 21, 10, 0, 0, 42);
    expect(eventBody({ id, type, data: { id: transferId, status: 'SENT' }, createdAt })).toBe(
      `{"id":"${id}","version":"2026-11-21","type":"transfer.status_changed",` +
        `"data":{"id":"${transferId}","status":"SENT"},"created_at":"2026-11-21T10:00:00.042"}`,
    );
  });
});

describe("the title of an event's workflow", () => {
  it('is the type and the new status of the transfer', () => {
    const body = eventBody({ id, type, data: { id: transferId, status: 'SENT' }, createdAt: 0 });
    expect(eventTitle(type, body)).toBe('transfer.status_changed SENT');
  });

  it.each(['transfer.archived', 'toString', '__proto__', ''])('is the type alone when it is unknown: %j', (unknown) => {
    expect(eventTitle(unknown, '{"data":{"status":"SENT"}}')).toBe(unknown);
    expect(eventTitle(unknown, 'not JSON')).toBe(unknown);
  });
});
