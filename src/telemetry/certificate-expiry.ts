import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Gauge, type Registry } from 'prom-client';
import type { Config } from '../config.js';
import type { Secret } from '../secret.js';

type Connections = Pick<Config, 'databaseUrl' | 'databaseDirectUrl' | 'temporal'>;

/**
 * Registers a gauge of the end of each certificate that the settings name. Files are read at each scrape, as a new
 * connection to Postgres reads them, except those of Temporal, which count as they were at the start.
 * @param receiversCa the file in NODE_EXTRA_CA_CERTS, by which a worker trusts receivers
 */
export function measureCertificates(registry: Registry, connections: Connections, receiversCa?: string): void {
  new Gauge({
    name: 'tls_certificate_expiry_timestamp_seconds',
    help: 'End of the certificates that the settings name; of several in one file, the first to expire.',
    labelNames: ['certificate'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [certificate, read] of Object.entries(sources(connections, receiversCa))) {
        const expiry = firstExpiry(read);
        if (expiry !== undefined) this.set({ certificate }, expiry);
      }
    },
  });
}

type Read = () => string | undefined;

function sources({ databaseUrl, databaseDirectUrl, temporal }: Connections, receiversCa?: string) {
  const tls = temporal.tls || undefined;
  return {
    postgres_ca: fileIn(databaseUrl, 'sslrootcert'),
    postgres_client: fileIn(databaseUrl, 'sslcert'),
    postgres_direct_ca: fileIn(databaseDirectUrl, 'sslrootcert'),
    postgres_direct_client: fileIn(databaseDirectUrl, 'sslcert'),
    temporal_ca: () => tls?.serverCa?.reveal(),
    temporal_client: () => tls?.client?.certificate.reveal(),
    receivers_ca: () => (receiversCa ? readFileSync(receiversCa, 'utf8') : undefined),
  } satisfies Record<string, Read>;
}

function fileIn(url: Secret, parameter: string): Read {
  const path = new URL(url.reveal()).searchParams.get(parameter);
  return () => (path ? readFileSync(path, 'utf8') : undefined);
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** In seconds since 1970. Undefined without a readable certificate: the connection itself then says what is wrong. */
function firstExpiry(read: Read): number | undefined {
  try {
    const ends = (read()?.match(CERTIFICATE) ?? []).map((pem) => Date.parse(new X509Certificate(pem).validTo));
    return ends.length > 0 ? Math.min(...ends) / 1_000 : undefined;
  } catch {
    return undefined;
  }
}
