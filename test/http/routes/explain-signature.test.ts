import { createHmac } from 'node:crypto';
import { newId } from '../../../src/platform/ids.js';
import { openApi } from '../../support/api.js';
import { deliverTo, type History } from '../../support/history.js';
import { endpointRequest, SECRET } from '../../support/transfers.js';

const t = '2026-11-21T10:00:00.123Z';

const api = await openApi();
const client = await api.client();
const history = await deliverTo(api, client);
const { body } = await api.database.prisma.event.findUniqueOrThrow({ where: { id: history.eventId } });

const pathOf = ({ deliveryId }: History, number: number | string = 1) =>
  `/deliveries/${deliveryId}/attempts/${number}/explain-signature`;
const hmac = (key: string, text: string) => createHmac('sha256', key).update(text).digest('hex');

describe('POST /deliveries/{id}/attempts/{number}/explain-signature', () => {
  it('names the mistake by the exact bytes and the t of the attempt', async () => {
    const ask = async (v0: string) => (await client.call('POST', pathOf(history), { json: { v0 } })).body;
    expect(await ask(hmac(SECRET, `${t}.${body}`))).toEqual({ explanation: 'match', detail: expect.any(String) });
    expect(await ask(hmac(SECRET, body))).toMatchObject({ explanation: 'body_without_timestamp' });
    expect(await ask('x'.repeat(512))).toMatchObject({ explanation: 'unknown' });
  });

  it('knows the secrets of the other endpoints of the client, and of no other client', async () => {
    const other = { ...endpointRequest(), secret: 'the-secret-of-another-endpoint' };
    await client.call('POST', '/webhook-endpoints', { json: other });
    const foreign = await api.client();
    await foreign.call('POST', '/webhook-endpoints', { json: { ...other, secret: 'the-secret-of-another-client' } });
    const ask = async (key: string) =>
      (await client.call('POST', pathOf(history), { json: { v0: hmac(key, `${t}.${body}`) } })).body.explanation;
    expect(await ask('the-secret-of-another-endpoint')).toBe('other_endpoint');
    expect(await ask('the-secret-of-another-client')).toBe('unknown');
  });

  it('echoes neither the digest nor a secret, and keeps no digest under an Idempotency-Key', async () => {
    const v0 = 'a-digest-that-stands-nowhere-else';
    const { text } = await client.call('POST', pathOf(history), {
      json: { v0 },
      headers: { 'Idempotency-Key': newId() },
    });
    expect(text).not.toContain(v0);
    expect(text).not.toContain(SECRET);
    const kept = await api.database.query<{ row: string }>(
      'select row_to_json(k)::text as row from idempotency_keys k',
      [],
    );
    expect(kept.length).toBeGreaterThan(0);
    expect(JSON.stringify(kept)).not.toContain(v0);
  });

  it.each(['0', '-1', '3', 'x', '1.5', '99999999999'])('finds no attempt %s', async (number) => {
    expect((await client.call('POST', pathOf(history, number), { json: { v0: '' } })).status).toBe(404);
  });

  it('responds with 409 secret_erased once the endpoint is deleted', async () => {
    const own = await api.client();
    const made = await deliverTo(api, own);
    await own.call('DELETE', `/webhook-endpoints/${made.webhookId}`);
    const { status, body: problem } = await own.call('POST', pathOf(made), { json: { v0: '' } });
    expect([status, problem.code]).toEqual([409, 'secret_erased']);
  });
});
