import { Writable } from 'node:stream';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { openAuthority } from '../../src/auth/authority.js';
import { createClient } from '../../src/auth/clients.js';
import { MasterKeys } from '../../src/platform/database/encryption.js';
import { Secret } from '../../src/platform/secret.js';
import { startApi, type TestApi } from '../support/api.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { OPERATOR } from '../support/factories.js';
import { silentLog } from '../support/silent-log.js';
import { endpointRequest, SECRET } from '../support/transfers.js';

let database: TestDatabase;
let api: TestApi;
let logged = '';

beforeAll(async () => {
  database = await createTestDatabase();
  const config = { authUrl: 'https://api.test', baseUrl: 'https://api.test', accessTokenLifetime: 3_600_000 };
  const masterKeys = new MasterKeys(new Secret<Uint8Array>(new Uint8Array(32).fill(7)));
  const authority = openAuthority({ config, database, masterKeys, log: silentLog });
  const sink = new Writable({
    write(chunk, _encoding, done) {
      logged += chunk;
      done();
    },
  });
  api = await startApi({ database, dependencies: { authority, masterKeys, log: pino({ level: 'trace' }, sink) } });
});
afterAll(async () => {
  await api.close();
  await database.drop();
});

it('a client gets a token and uses it, and the log contains no secret', async () => {
  const { client, clientSecret } = await createClient(database, OPERATOR, { name: 'Integrator' });
  const asked = {
    client_id: client.id,
    client_secret: clientSecret.reveal(),
    audience: 'https://api.test',
    grant_type: 'client_credentials',
  };
  const token = await api.call('POST', '/oauth/token', { json: asked });
  expect(token.status).toBe(200);
  const headers = { Authorization: `Bearer ${token.body.access_token}` };
  const endpoint = await api.call('POST', '/webhook-endpoints', { json: endpointRequest(), headers });
  expect(endpoint.status).toBe(201);
  const listed = await api.call('GET', '/webhook-endpoints?limit=5', { headers });
  expect(listed.body.data).toEqual([endpoint.body]);
  const tampered = { Authorization: `Bearer ${token.body.access_token.slice(0, -4)}AAAA` };
  const refused = await api.call('GET', '/webhook-endpoints?token=hunter2', { headers: tampered });
  expect([refused.status, refused.body.code]).toEqual([401, 'invalid_token']);
  expect(refused.headers.get('www-authenticate')).toMatch(/^Bearer .*error="invalid_token"/);

  const lines = logged
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const requests = lines.filter(({ msg }) => msg === 'request');
  expect(requests.map(({ method, route, status, client_id }) => [method, route, status, client_id])).toEqual([
    ['POST', expect.stringContaining('/oauth/token'), 200, client.id],
    ['POST', '/webhook-endpoints', 201, client.id],
    ['GET', '/webhook-endpoints', 200, client.id],
    ['GET', '/webhook-endpoints', 401, undefined],
  ]);
  for (const secret of [SECRET, clientSecret.reveal(), token.body.access_token, 'hunter2']) {
    expect(logged).not.toContain(secret);
  }
});
