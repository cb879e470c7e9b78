import { inspect } from 'node:util';
import { afterAll, describe, expect, it } from '@jest/globals';
import { readEnvironment, temporalAt } from '../../../src/platform/config/config.js';
import { makeAuthorities } from '../../support/certificates.js';
import { linesOf } from '../../support/configuration.js';

const authorities = makeAuthorities();
const ca = authorities.make('ca');
const client = ca.sign('client');
afterAll(() => authorities.remove());

const [CERT, KEY, CA] = [client.certificate, client.key, ca.certificate];
const read = (env: Record<string, string>) => temporalAt('temporal.internal:7233', readEnvironment(env));
describe("Temporal's TLS settings", () => {
  it.each<[string, Record<string, string>]>([
    ['TEMPORAL_TLS', { TEMPORAL_TLS: 'true' }],
    ['an API key', { TEMPORAL_API_KEY: 'key' }],
    ['a server name', { TEMPORAL_TLS_SERVER_NAME: 'temporal.internal' }],
    ['a CA', { TEMPORAL_TLS_SERVER_CA_CERT_PATH: CA }],
    ['a client certificate', { TEMPORAL_TLS_CLIENT_CERT_PATH: CERT, TEMPORAL_TLS_CLIENT_KEY_PATH: KEY }],
  ])('use TLS with %s', (_what, env) => {
    expect(read({}).tls).toBe(false);
    expect(read(env).tls).toBeTruthy();
  });

  it.each<[string, Record<string, string>, string]>([
    [
      'no file',
      { TEMPORAL_TLS_SERVER_CA_CERT_PATH: '/none.pem' },
      'TEMPORAL_TLS_SERVER_CA_CERT_PATH: names a file that cannot be read',
    ],
    [
      'a key as CA',
      { TEMPORAL_TLS_SERVER_CA_CERT_PATH: KEY },
      'TEMPORAL_TLS_SERVER_CA_CERT_PATH: give a certificate in PEM',
    ],
    ['text', { TEMPORAL_TLS_CLIENT_KEY_DATA: 'hunter2' }, 'TEMPORAL_TLS_CLIENT_KEY_DATA: give a private key in PEM'],
    [
      'a file and its content',
      { TEMPORAL_TLS_SERVER_CA_CERT_PATH: CA, TEMPORAL_TLS_SERVER_CA_CERT_DATA: 'hunter2' },
      'TEMPORAL_TLS_SERVER_CA_CERT_PATH: TEMPORAL_TLS_SERVER_CA_CERT_DATA is given too',
    ],
  ])('refuse %s in one line, without the content', (_what, env, start) => {
    const lines = linesOf(() => read(env));
    expect(lines).toEqual([expect.stringMatching(new RegExp(`^${start}`))]);
    expect(lines.join()).not.toMatch(/hunter2|BEGIN/);
  });

  it('print no certificate, key or API key', () => {
    const config = read({
      TEMPORAL_API_KEY: 'hunter2',
      TEMPORAL_TLS_CLIENT_CERT_PATH: CERT,
      TEMPORAL_TLS_CLIENT_KEY_DATA: authorities.read(KEY),
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: CA,
    });
    for (const text of [inspect(config, { depth: 9 }), JSON.stringify(config)]) {
      expect(text).not.toMatch(/hunter2|BEGIN|MII/);
      expect(text).toContain('[redacted]');
    }
  });
});
