import { X509Certificate } from 'node:crypto';
import { afterAll, expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { temporalAt } from '../../../src/platform/config/config.js';
import { readEnvironment } from '../../../src/platform/config/environment.js';
import { Secret } from '../../../src/platform/secret.js';
import { measureCertificates } from '../../../src/platform/telemetry/gauges.js';
import { makeAuthorities } from '../../support/certificates.js';

const authorities = makeAuthorities();
afterAll(() => authorities.remove());

const endOf = (file: string) => Date.parse(new X509Certificate(authorities.read(file)).validTo) / 1_000;
const PLAIN = new Secret('postgresql://app:secret@db.internal/app');
const withFiles = (parameters: Record<string, string>) => {
  const url = new URL(PLAIN.reveal());
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return new Secret(url.href);
};

type Connections = Parameters<typeof measureCertificates>[1];

/** @returns what a scrape says, by the name of the certificate */
function measured(connections: Connections, receiversCa?: string) {
  const registry = new Registry();
  measureCertificates(registry, connections, receiversCa);
  return async () => {
    const lines = (await registry.metrics()).matchAll(
      /^tls_certificate_expiry_timestamp_seconds{certificate="(\w+)"} (\d+)$/gm,
    );
    return Object.fromEntries([...lines].map(([, name, value]) => [name, Number(value)]));
  };
}

test('names the end of every certificate that the settings name, and no file', async () => {
  const ca = authorities.make('ca');
  const client = ca.sign('client');
  const receivers = authorities.make('receivers');
  const databaseUrl = withFiles({ sslrootcert: ca.certificate, sslcert: client.certificate, sslkey: client.key });
  const temporal = temporalAt(
    'temporal.internal:7233',
    readEnvironment({
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: ca.certificate,
      TEMPORAL_TLS_CLIENT_CERT_PATH: client.certificate,
      TEMPORAL_TLS_CLIENT_KEY_PATH: client.key,
    }),
  );
  const read = measured({ databaseUrl, databaseDirectUrl: PLAIN, temporal }, receivers.certificate);
  expect(await read()).toEqual({
    postgres_ca: endOf(ca.certificate),
    postgres_client: endOf(client.certificate),
    temporal_ca: endOf(ca.certificate),
    temporal_client: endOf(client.certificate),
    receivers_ca: endOf(receivers.certificate),
  });
});
