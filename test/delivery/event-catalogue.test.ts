import { describe, expect, it } from '@jest/globals';
import { EVENT_CATALOGUE, eventBody, eventTitle } from '../../src/delivery/event-catalogue.js';
import { TransferStatus } from '../../src/platform/database/generated/enums.js';

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

  it.each([
    [0, '1970-01-01T00:00:00.000'],
    [Date.UTC(2027, 0, 1) - 1, '2026-12-31T23:59:59.999'],
  ])('has %d ms since 1970 as %s', (createdAt, expected) => {
    const body = eventBody({ id, type, data: { id: transferId, status: 'SENT' }, createdAt });
    expect(JSON.parse(body)).toMatchObject({ created_at: expected });
  });

  it('has data that the schema of its type accepts, for every status of a transfer', () => {
    for (const status of Object.values(TransferStatus)) {
      const body = eventBody({ id, type, data: { id: transferId, status }, createdAt: 0 });
      expect(EVENT_CATALOGUE[type].data.parse(JSON.parse(body).data)).toEqual({ id: transferId, status });
    }
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
