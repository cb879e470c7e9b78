import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';
import type { Config } from '../config/config.js';
import { shareReading } from '../deadline.js';
import type { Secret } from '../secret.js';

/**
 * Reads of the values that a scrape needs from another system, ms. Scrapes of several Prometheus servers, and the
 * gauges of one scrape, share one reading for 5 s. A reading may take 3 s, less than a scrape (10 s), so that a system
 * that does not respond does not cost the other metrics.
 */
const READING = { keep: 5_000, limit: 3_000 };

/** Registers gauges whose value is read at each scrape. */
export function readingGauges(registry: Registry) {
  return (name: string, help: string, read: () => number | Promise<number>): void => {
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        this.set(await read());
      },
    });
  };
}

/** Registers gauges that share one reading of another system. They are NaN while it cannot be read. */
export function sharedGauges<T>(registry: Registry, readAll: () => Promise<T>) {
  const read = shareReading(readAll, READING);
  const from = async (pick: (all: T) => number) => {
    const all = await read();
    return all === undefined ? Number.NaN : pick(all);
  };
  return {
    read,
    gauge: (name: string, help: string, pick: (all: T) => number): void =>
      readingGauges(registry)(name, help, () => from(pick)),
    /** A gauge with a value for each of `values`, its label. */
    gaugeOfEach<V extends string>(
      name: string,
      help: string,
      [label, values]: readonly [string, readonly V[]],
      pick: (all: T) => Record<V, number>,
    ): void {
      new Gauge({
        name,
        help,
        labelNames: [label],
        registers: [registry],
        async collect() {
          for (const value of values) this.set({ [label]: value }, await from((all) => pick(all)[value]));
        },
      });
    },
  };
}

/** Gauges to which prom-client gives a counter's name. promtool rejects them. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/** Registers Node's own metrics, and gauges of the process's dependencies, as `/readyz` reports them. */
export function measureProcess(
  registry: Registry,
  readiness: () => Promise<{ checks: { postgres: string; migrations: string; temporal: string } }>,
): void {
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  sharedGauges(registry, readiness).gaugeOfEach(
    'dependency_up',
    'Whether this process reaches `postgres` and `temporal`, and finds the `migrations` applied.',
    ['dependency', ['postgres', 'migrations', 'temporal']],
    ({ checks }) => ({
      postgres: Number(checks.postgres === 'ok'),
      migrations: Number(checks.migrations === 'applied'),
      temporal: Number(checks.temporal === 'ok'),
    }),
  );
}

type Connections = Pick<Config, 'databaseUrl' | 'databaseDirectUrl' | 'temporal'>;

/**
 * Registers a gauge of the end of each certificate that the settings name. Files are read at each scrape, as a new
 * connection to Postgres reads them, except those of Temporal, which count as they were at the start.
 * @param receiversCa the file in NODE_EXTRA_CA_CERTS, by which a worker trusts receivers
 */
export function measureCertificates(registry: Registry, connections: Connections, receiversCa?: string): void {
  new Gauge({
    name: 'tls_certificate_expiry_timestamp_seconds',
    help: 'Expiry of the certificates named in the settings: of each file, the earliest valid one.',
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
  };
}

function fileIn(url: Secret, parameter: string) {
  const path = new URL(url.reveal()).searchParams.get(parameter);
  return () => (path ? readFileSync(path, 'utf8') : undefined);
}

/** A file with more certificates is a system's bundle, of which no connection needs all. */
const BUNDLE = 20;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** In seconds since 1970. Undefined without a readable certificate: the connection itself then says what is wrong. */
function firstExpiry(read: () => string | undefined): number | undefined {
  try {
    const ends = (read()?.match(CERTIFICATE) ?? []).map((pem) => Date.parse(new X509Certificate(pem).validTo));
    if (ends.length > BUNDLE) return undefined;
    const valid = ends.filter((end) => end > Date.now());
    return ends.length > 0 ? Math.min(...(valid.length > 0 ? valid : ends)) / 1_000 : undefined;
  } catch {
    return undefined;
  }
}
