import type { Config } from '../config.js';
import { Networks } from '../networks.js';

const LOOPBACK = ['127.0.0.0/8', '::1/128'];

/**
 * What production may start with and should not: each line names the variable and what would be right. Whether a network
 * between two machines is trusted is the operator's to judge, so nothing here keeps the service from starting.
 */
export function cautionsOf(
  config: Pick<Config, 'environment' | 'databaseUrl' | 'temporal' | 'allowedNetworks'>,
): string[] {
  if (config.environment !== 'production') return [];
  const lines: string[] = [];
  if (isPlaintextPostgres(new URL(config.databaseUrl.reveal()))) {
    lines.push('DATABASE_URL: speaks plaintext to a remote Postgres; add ?sslmode=verify-full');
  }
  const { address, tls } = config.temporal;
  if (!tls && !isLoopback(address.replace(/:\d+$/, ''))) {
    lines.push('TEMPORAL_TLS: is false, and Temporal is remote: workflows and their inputs are plaintext; give true');
  }
  if (config.allowedNetworks.length === 0) {
    lines.push('ALLOWED_NETWORKS: is empty, so anybody may connect; give the CIDRs of your clients');
  }
  return lines;
}

/** Without `sslmode`, `pg` speaks plaintext. A path as host is a Unix socket. */
function isPlaintextPostgres({ hostname, searchParams }: URL): boolean {
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  if (host === '' || host.startsWith('/') || isLoopback(host)) return false;
  const encrypted = ['prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];
  return !encrypted.includes(searchParams.get('sslmode') ?? '') && !/^(true|1)$/.test(searchParams.get('ssl') ?? '');
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || new Networks(LOOPBACK).contains(host.replace(/^\[|\]$/g, ''));
}
