import { Resolver as DnsResolver } from 'node:dns/promises';
import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import { ConnectFailure } from './attempt-error.js';
import { createHostsFile } from './hosts-file.js';

/** An address that a name server gave, and for how long it holds, in seconds. */
export interface ResolvedAddress {
  address: string;
  ttl: number;
}

/** Asks for the addresses of a name; rejects when the signal aborts. */
export type LookUp = (name: string, signal: AbortSignal) => Promise<readonly ResolvedAddress[]>;

/** The addresses of a name, in the order to try them. @throws ConnectFailure `dns` */
export type Resolve = (name: string) => Promise<readonly string[]>;

export interface Resolver {
  /** A client's own way in: few look-ups at once, so that its dead name servers hold up nobody else. */
  forClient(): Resolve;
  /** Ends the look-ups under way. */
  close(): void;
}

/** Less than the 5 s in which a connection must be there. */
const LOOK_UP_LIMIT_MS = 4_000;
const LOOK_UPS_PER_CLIENT = 10;
/** So that a name that moves is followed soon; and a burst of connections asks once. */
const LONGEST_CACHED_MS = 30_000;

export interface ResolverOptions {
  /** How a name is looked up; the system's name servers by default. */
  lookUp?: LookUp;
  /** `/etc/hosts` by default. */
  hostsFile?: string;
}

export function createResolver({ lookUp = askNameServers(), hostsFile }: ResolverOptions = {}): Resolver {
  const known = new LRUCache<string, readonly string[]>({ max: 10_000 });
  const hosts = createHostsFile(hostsFile);
  const closing = new AbortController();

  async function ask(name: string): Promise<readonly string[]> {
    const limit = AbortSignal.any([closing.signal, AbortSignal.timeout(LOOK_UP_LIMIT_MS)]);
    const answers = await lookUp(name, limit).catch(() => []);
    if (answers.length === 0) throw new ConnectFailure('dns');
    const addresses = answers.map(({ address }) => address);
    const ttl = Math.min(LONGEST_CACHED_MS, ...answers.map((answer) => answer.ttl * 1000));
    if (ttl > 0) known.set(name, addresses, { ttl });
    return addresses;
  }

  return {
    forClient() {
      const limited = pLimit(LOOK_UPS_PER_CLIENT);
      const underWay = new Map<string, Promise<readonly string[]>>();
      return async (hostname) => {
        const name = hostname.toLowerCase().replace(/\.$/, '');
        // RFC 6761 §6.3: localhost is this machine, whatever a name server says.
        if (name === 'localhost' || name.endsWith('.localhost')) return ['127.0.0.1', '::1'];
        const listed = hosts(name);
        if (listed.length > 0) return listed;
        const cached = known.get(name);
        if (cached) return cached;
        const asked = underWay.get(name) ?? limited(() => ask(name)).finally(() => underWay.delete(name));
        underWay.set(name, asked);
        return asked;
      };
    },
    close: () => closing.abort(),
  };
}

/**
 * The A and AAAA records, IPv4 first: a receiver always has it, a worker may not have IPv6. By `dns.Resolver`, since
 * `dns.lookup` runs on four threads that the whole process shares. One family is enough where the other does not answer.
 * @param servers the name servers asked, `address` or `address:port`; the system's where none is given
 */
export function askNameServers(servers?: readonly string[]): LookUp {
  return async (name, signal) => {
    signal.throwIfAborted();
    // One for each look-up: it is cancelled alone, and a changed resolv.conf is read.
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
