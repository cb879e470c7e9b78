import { describe, expect, it } from '@jest/globals';
import { MAX_RESPONSE_BYTES } from '../../../src/http/response.js';
import { newId } from '../../../src/platform/ids.js';
import { openApi } from '../../support/api.js';
import { deliverTo } from '../../support/history.js';

const COUNT = 8_000;
/** The text with the longest JSON: 4 KiB of it take 24 KiB. */
const BODY = '\u0001'.repeat(4_096);

const api = await openApi();
const client = await api.client();
const history = await deliverTo(api, client);
await api.database.query(
  `insert into attempts (delivery_id, number, trigger, url, t, started_at, duration_ms, response_status, response_body, error)
   select $1::uuid, n, 'manual', $4, '2026-11-21T10:00:00.123Z', now(), 12, 500, $2, 'status'
     from generate_series(3, $3::int) n`,
  [history.deliveryId, BODY, COUNT, `https://example.com/${'é'.repeat(2_000)}`],
);
await api.database.prisma.delivery.update({ where: { id: history.deliveryId }, data: { attemptCount: COUNT } });

const numbersOf = (attempts: { number: number }[]) => attempts.map(({ number }) => number);
const from = (last: number, count: number) => Array.from({ length: count }, (_, i) => last - i);

describe('a delivery with 8,000 attempts', () => {
  it('is shown with the latest 20, oldest first, in less than 1 MB', async () => {
    const { body, text } = await client.call('GET', `/deliveries/${history.deliveryId}`);
    expect(body.attempt_count).toBe(COUNT);
    expect(numbersOf(body.attempts)).toEqual(from(COUNT, 20).reverse());
    expect(body.attempts[19].response_body).toBe(BODY);
    expect(Buffer.byteLength(text)).toBeLessThan(MAX_RESPONSE_BYTES);
  });

  it('is listed, and returned by a retry, without the response bodies', async () => {
    const paths = [`/events/${history.eventId}/deliveries`, `/webhook-endpoints/${history.webhookId}/deliveries`];
    const responses = [
      ...(await Promise.all(paths.map((path) => client.call('GET', path)))),
      await client.call('POST', `/deliveries/${history.deliveryId}/retry`, { headers: { 'Idempotency-Key': newId() } }),
    ];
    for (const { text } of responses) {
      expect(text).toContain(`"last_attempt":{"number":${COUNT},`);
      expect(text.length).toBeLessThan(2_000);
    }
    const [kept] = await api.database.query<{ size: number }>('select length(body) as size from idempotency_keys', []);
    expect(kept?.size).toBeLessThan(2_000);
  });

  it('lists all of them in pages of 20 or fewer, newest first', async () => {
    const path = `/deliveries/${history.deliveryId}/attempts`;
    const first = await client.call('GET', path);
    expect(numbersOf(first.body.data)).toEqual(from(COUNT, 20));
    expect(first.body).toMatchObject({ has_more: true, next_cursor: expect.any(String) });
    expect(first.headers.get('link')).toBe(`<https://api.test${path}?cursor=${first.body.next_cursor}>; rel="next"`);
    expect(Buffer.byteLength(first.text)).toBeLessThan(MAX_RESPONSE_BYTES);
    const next = await client.call('GET', `${path}?limit=2&cursor=${first.body.next_cursor}`);
    expect(numbersOf(next.body.data)).toEqual(from(COUNT - 20, 2));
    const { body } = await client.call('GET', `/deliveries/${history.deliveryId}`);
    expect(first.body.data.reverse()).toEqual(body.attempts);
  });
});

it('the attempts of a short delivery are one page', async () => {
  const { deliveryId } = await deliverTo(api, client);
  const { body, headers } = await client.call('GET', `/deliveries/${deliveryId}/attempts`);
  expect(body).toMatchObject({ data: [{ number: 2 }, { number: 1 }], has_more: false, next_cursor: null });
  expect(headers.get('link')).toBeNull();
});
