import { Resolver as DnsResolver } from 'node:dns/promises';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import { withinMemory } from '../../platform/within-memory.js';
import { ConnectFailure } from './attempt-error.js';

/** An address from a name server, and its time to live in seconds. */
export interface ResolvedAddress {
  address: string;
  ttl: number;
}

/** Looks up the addresses of a name. Rejects when the signal aborts. */
export type LookUp = (name: string, signal: AbortSignal) => Promise<readonly ResolvedAddress[]>;

/** Returns the addresses of a name. @throws ConnectFailure `dns` */
export type Resolve = (name: string) => Promise<readonly string[]>;

/** `dns.Resolver` knows no search domain: the same URL must mean the same receiver at every worker. */
const NO_ADDRESS =
  'The name servers gave no address for this full name; short names and search domains are not resolved.';
/** Shorter than the 5 s in which a connection must be open. */
const LOOK_UP_LIMIT_MS = 4_000;
const LOOK_UPS_PER_CLIENT = 10;
/**
 * Short, so that a name's new addresses are used soon; long enough that a burst of connections looks the name up once.
 */
const LONGEST_CACHED_MS = 30_000;

export interface ResolverOptions {
  /** Looks up a name; the system's name servers by default. */
  lookUp?: LookUp;
  /** `/etc/hosts` by default. */
  hostsFile?: string;
}

export function createResolver({ lookUp = askNameServers(), hostsFile }: ResolverOptions = {}) {
  const known = new LRUCache<string, readonly string[]>(withinMemory(16));
  const hosts = createHostsFile(hostsFile);
  const closing = new AbortController();

  async function ask(name: string): Promise<readonly string[]> {
    const limit = AbortSignal.any([closing.signal, AbortSignal.timeout(LOOK_UP_LIMIT_MS)]);
    const resolved = await lookUp(name, limit).catch(() => []);
    if (resolved.length === 0) throw new ConnectFailure('dns', NO_ADDRESS);
    const addresses = resolved.map(({ address }) => address);
    const ttl = Math.min(LONGEST_CACHED_MS, ...resolved.map((entry) => entry.ttl * 1000));
    if (ttl > 0) known.set(name, addresses, { ttl });
    return addresses;
  }

  return {
    /**
     * A client's own resolver with few concurrent look-ups, so that the client's dead name servers delay no other
     * client.
     */
    forClient(): Resolve {
      const limited = pLimit(LOOK_UPS_PER_CLIENT);
      const inProgress = new Map<string, Promise<readonly string[]>>();
      return async (hostname) => {
        const name = hostname.toLowerCase().replace(/\.$/, '');
        // RFC 6761 §6.3: localhost is this machine, even if a name server has another address for it.
        if (name === 'localhost' || name.endsWith('.localhost')) return ['127.0.0.1', '::1'];
        const listed = hosts(name);
        if (listed.length > 0) return listed;
        const cached = known.get(name);
        if (cached) return cached;
        const asked = inProgress.get(name) ?? limited(() => ask(name)).finally(() => inProgress.delete(name));
        inProgress.set(name, asked);
        return asked;
      };
    },
    /** Aborts the look-ups in progress. */
    close: () => closing.abort(),
  };
}

/**
 * Creates a look-up of A and AAAA records. It uses `dns.Resolver`, since `dns.lookup` runs on four threads that the
 * whole process shares. If one family fails, the other is enough.
 * @param servers the name servers, `address` or `address:port`; the system's by default
 */
export function askNameServers(servers?: readonly string[]): LookUp {
  return async (name, signal) => {
    signal.throwIfAborted();
    // Each look-up has its own resolver, so that it can be cancelled alone and a changed resolv.conf is read.
    const resolver = new DnsResolver({ timeout: 1_500, tries: 2 });
    if (servers) resolver.setServers(servers);
    const cancel = () => resolver.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    try {
      const families = await Promise.allSettled([
        resolver.resolve4(name, { ttl: true }),
        resolver.resolve6(name, { ttl: true }),
      ]);
      return families.flatMap((family) => (family.status === 'fulfilled' ? family.value : []));
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  };
}

/**
 * Looks names up in a hosts file, which `dns.Resolver` does not read. The file is read again when it changes. An
 * unreadable file counts as empty.
 * @returns a function that gives the addresses of a lower-case name; none if the file does not have it
 */
export function createHostsFile(path = '/etc/hosts'): (name: string) => readonly string[] {
  let readAt = Number.NaN;
  let entries = new Map<string, string[]>();
  return (name) => {
    try {
      const changedAt = statSync(path).mtimeMs;
      if (changedAt !== readAt) {
        entries = parseHosts(readFileSync(path, 'utf8'));
        readAt = changedAt;
      }
    } catch {
      entries = new Map();
      readAt = Number.NaN;
    }
    return entries.get(name) ?? [];
  };
}

function parseHosts(text: string): Map<string, string[]> {
  const entries = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address, ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (!address || isIP(address) === 0) continue;
    for (const name of names) {
      const key = name.toLowerCase();
      entries.set(key, [...(entries.get(key) ?? []), address]);
    }
  }
  return entries;
}
