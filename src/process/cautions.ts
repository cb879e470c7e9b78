import type { Config } from '../config.js';
import { Networks } from '../networks.js';
import type { Secret } from '../secret.js';

const LOOPBACK = ['127.0.0.0/8', '::1/128'];

/**
 * Settings that production should not have but may start with, a line each: the variable, the risk, and the value to
 * give. The operator decides whether a network between two machines is trusted, so no line keeps the service from
 * starting.
 */
export function cautionsOf(
  config: Pick<Config, 'environment' | 'databaseUrl' | 'databaseDirectUrl' | 'temporal' | 'allowedNetworks'>,
): string[] {
  if (config.environment !== 'production') return [];
  const lines: string[] = [];
  const urls: [string, Secret][] = [['DATABASE_URL', config.databaseUrl]];
  if (config.databaseDirectUrl !== config.databaseUrl) urls.push(['DATABASE_DIRECT_URL', config.databaseDirectUrl]);
  for (const [name, url] of urls) {
    if (!isPlaintextPostgres(new URL(url.reveal()))) continue;
    lines.push(`${name}: the connection to a remote Postgres is not encrypted; add ?sslmode=verify-full`);
  }
  const { address, tls } = config.temporal;
  if (!tls && !isLoopback(address.replace(/:\d+$/, ''))) {
    lines.push('TEMPORAL_TLS: is false, so workflows and their inputs reach a remote Temporal in plaintext; give true');
  }
  if (config.allowedNetworks.length === 0) {
    lines.push('ALLOWED_NETWORKS: is empty, so any address may connect; give the CIDRs of your clients');
  }
  return lines;
}

/** Without `sslmode`, `pg` uses plaintext. A path as host is a Unix socket. */
function isPlaintextPostgres({ hostname, searchParams }: URL): boolean {
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  if (host === '' || host.startsWith('/') || isLoopback(host)) return false;
  const encrypted = ['prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];
  return !encrypted.includes(searchParams.get('sslmode') ?? '') && !/^(true|1)$/.test(searchParams.get('ssl') ?? '');
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || new Networks(LOOPBACK).contains(host.replace(/^\[|\]$/g, ''));
}
