import { type Config, PROXY_UNNAMED } from '../platform/config/config.js';
import { Networks } from '../platform/networks.js';
import type { Secret } from '../platform/secret.js';
import { SUPPORTED_NODE } from '../platform/version.js';

/** A network of proxies is no larger than 10.0.0.0/8 or fd00::/8. */
const SHORTEST_PREFIX = 8;

const LOOPBACK = ['127.0.0.0/8', '::1/128'];

/**
 * Settings that a deployment should not have but may start with, a line each: the variable, the risk, and the value to
 * give. The operator decides whether a network between two machines is trusted, so no line keeps the service from
 * starting.
 */
export function cautionsOf(config: Config): string[] {
  const lines: string[] = [];
  const widest = config.trustedProxies.find((network) => Number(network.split('/')[1]) < SHORTEST_PREFIX);
  if (widest) {
    lines.push(
      `TRUSTED_PROXIES: ${widest} lets almost any caller choose its own address in X-Forwarded-For; give the addresses of your proxies`,
    );
  }
  if (config.proxyUnnamed) lines.push(PROXY_UNNAMED);
  if (config.environment !== 'production') return lines;
  const urls: [string, Secret][] = [['DATABASE_URL', config.databaseUrl]];
  if (config.databaseDirectUrl !== config.databaseUrl) urls.push(['DATABASE_DIRECT_URL', config.databaseDirectUrl]);
  for (const [name, url] of urls) {
    const weakness = weaknessOf(new URL(url.reveal()));
    if (weakness) lines.push(`${name}: ${weakness}`);
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

const PLAINTEXT = 'the connection to a remote Postgres is not encrypted; add ?sslmode=verify-full';
const UNVERIFIED =
  'the certificate of a remote Postgres is not verified; give sslmode=verify-full, and sslrootcert=FILE for a private CA';

/**
 * What `pg` makes of the URL (pg-connection-string): without `sslmode`, plaintext; with any but `no-verify`, as with
 * `verify-full`. With `uselibpqcompat=true`, the modes have libpq's meaning. A path as host is a Unix socket.
 */
function weaknessOf({ hostname, searchParams }: URL): string | undefined {
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  if (host === '' || host.startsWith('/') || isLoopback(host)) return undefined;
  const mode = searchParams.get('sslmode') ?? (/^(true|1)$/.test(searchParams.get('ssl') ?? '') ? 'verify-full' : '');
  if (mode === 'verify-full') return undefined;
  if (mode === 'no-verify') return UNVERIFIED;
  if (!['prefer', 'require', 'verify-ca'].includes(mode)) return PLAINTEXT;
  return searchParams.get('uselibpqcompat') === 'true' ? UNVERIFIED : undefined;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || new Networks(LOOPBACK).contains(host.replace(/^\[|\]$/g, ''));
}

/** What is wrong with the release of Node.js that runs this process. */
export function nodeFault(version = process.versions.node): string | false {
  const fault = `Node.js ${version} is not supported (${SUPPORTED_NODE}) and may get no security fixes; run Node.js 24`;
  return !isSupportedNode(version) && fault;
}

/**
 * Whether a release of Node.js is supported. Node.js does not check package.json's `engines` when it starts a program,
 * and a release line that has ended gets no security fixes.
 * @param version such as `24.21.0`
 * @param supported caret ranges, joined by `||`
 */
export function isSupportedNode(version: string, supported = SUPPORTED_NODE): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return supported.split('||').some((range) => {
    const [, lineOfRelease, atLeast = '0'] = /^\^(\d+)(?:\.(\d+))?$/.exec(range.trim()) ?? [];
    return major === Number(lineOfRelease) && minor >= Number(atLeast);
  });
}
