import { readFileSync } from 'node:fs';
import { openApi, startApi } from '../../support/api.js';

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };

const env = { EGRESS_ADDRESSES: '203.0.113.0/28,2001:db8::/64' };
const api = await openApi({ env });

describe('GET /meta', () => {
  it('states the environment, the versions, the ladder and the egress addresses to a caller without a token', async () => {
    const { status, body, headers } = await api.call('GET', '/meta');
    expect(status).toBe(200);
    expect(body).toEqual({
      environment: 'sandbox',
      version,
      event_version: '2026-11-21',
      retry_delays: ['0s', '5m', '30m', '2h', '6h', '24h'],
      egress_addresses: ['203.0.113.0/28', '2001:db8::/64'],
    });
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.get('access-control-allow-credentials')).toBeNull();
  });

  it('has no egress address unless the operator configures one', async () => {
    const plain = await startApi({ database: api.database });
    expect((await plain.call('GET', '/meta')).body.egress_addresses).toEqual([]);
    await plain.close();
  });
});
