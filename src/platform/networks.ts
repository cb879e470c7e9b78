import { isIPv6, type Server, type Socket } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;
export type Network = readonly [Address, number];

/** Replaces an address that a trusted proxy did not name. It is in no network. */
const UNKNOWN_ADDRESS = 'unknown';

/**
 * A list of CIDRs. IPv4-mapped IPv6 (`::ffff:10.0.0.1`, RFC 4291 §2.5.5.2) counts as its IPv4 address, in the list and
 * in the address that is checked.
 */
export class Networks {
  readonly #ranges: readonly Network[];

  /** @throws Error when one of `cidrs` is not a CIDR; check with `isNetwork` before */
  constructor(cidrs: readonly string[]) {
    this.#ranges = cidrs.map(parseNetwork);
  }

  contains(address: string): boolean {
    if (this.#ranges.length === 0) return false;
    const parsed = parseAddress(address);
    return parsed !== undefined && this.#ranges.some((network) => isIn(network, parsed));
  }

  /** Whether the list, used as an allow-list, lets the address in. An empty list lets every address in. */
  allows(address: string): boolean {
    return this.#ranges.length === 0 || this.contains(address);
  }
}

/**
 * Whether `text` is a CIDR in the plain notation (no octal, hexadecimal or shortened IPv4, which other programs parse
 * differently).
 */
export function isNetwork(text: string): boolean {
  const [address, bits, ...rest] = text.split('/');
  return (
    rest.length === 0 &&
    /^(0|[1-9]\d{0,2})$/.test(bits ?? '') &&
    isPlainAddress(address ?? '') &&
    ipaddr.isValidCIDR(text)
  );
}

/**
 * The client's address: that of the socket or, when the socket's is a trusted proxy, the right-most entry of
 * `X-Forwarded-For` that is not a trusted proxy. When all entries are trusted proxies it is the left-most. An entry
 * that is not an address ends the search with `unknown`, because no trusted proxy wrote the entries left of it.
 */
export function clientAddress(
  socketAddress: string | undefined,
  forwardedFor: string | undefined,
  trustedProxies: Networks,
): string {
  let address = plainAddress(socketAddress ?? '');
  const entries = forwardedFor?.split(',').filter((entry) => entry.trim() !== '') ?? [];
  while (trustedProxies.contains(address)) {
    const entry = entries.pop();
    if (entry === undefined) break;
    address = plainAddress(withoutPort(entry.trim()));
  }
  return address;
}

/**
 * The network that limits by address count as one host: an IPv4 address, or a /64 of IPv6, which one host has to
 * itself.
 * @param address as `clientAddress` returns it
 */
export function hostNetwork(address: string): string {
  return isIPv6(address) ? ipaddr.IPv6.networkAddressFromCIDR(`${address.split('%')[0]}/64`).toString() : address;
}

/** Who may connect to a server. */
interface Admission {
  /** CIDRs; an empty list allows every address. */
  allowedNetworks: readonly string[];
  /** CIDRs. A trusted proxy may always connect: the client's address is checked when the headers have arrived. */
  trustedProxies: readonly string[];
  /** Open connections of one host. A trusted proxy connects for all its clients, so it has no limit. */
  connectionsPerAddress: number;
}

/** Closes a connection that is not admitted before a byte is read. */
export function guardSockets(server: Server, admission: Admission): void {
  const allowed = new Networks(admission.allowedNetworks);
  const proxies = new Networks(admission.trustedProxies);
  const counts = new Map<string, number>();
  server.prependListener('connection', (socket: Socket) => {
    const address = plainAddress(socket.remoteAddress ?? '');
    if (proxies.contains(address)) return;
    const host = hostNetwork(address);
    const count = (counts.get(host) ?? 0) + 1;
    if (!allowed.allows(address) || count > admission.connectionsPerAddress) {
      socket.destroy();
      return;
    }
    counts.set(host, count);
    socket.once('close', () => {
      const left = (counts.get(host) ?? 1) - 1;
      if (left > 0) counts.set(host, left);
      else counts.delete(host);
    });
  });
}

/** The address in its plain form, IPv4 where it is IPv4-mapped; `unknown` for anything else. */
function plainAddress(text: string): string {
  return parseAddress(text)?.toString() ?? UNKNOWN_ADDRESS;
}

/** `[2001:db8::1]:443`, `[2001:db8::1]` and `192.0.2.1:443`, as some proxies write them, without brackets and port. */
function withoutPort(entry: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([\d.]+):\d+$/.exec(entry)?.[1] ?? entry;
}

function isPlainAddress(text: string): boolean {
  return ipaddr.IPv4.isValidFourPartDecimal(text) || (text.includes(':') && ipaddr.IPv6.isValid(text));
}

function parseAddress(text: string): Address | undefined {
  return isPlainAddress(text) ? ipaddr.process(text) : undefined;
}

/** `::ffff:203.0.113.0/120` is the IPv4 network 203.0.113.0/24. */
export function parseNetwork(cidr: string): Network {
  const [network, bits] = ipaddr.parseCIDR(cidr);
  if (network instanceof ipaddr.IPv6 && network.isIPv4MappedAddress() && bits >= 96) {
    return [network.toIPv4Address(), bits - 96];
  }
  return [network, bits];
}

export function isIn([network, bits]: Network, address: Address): boolean {
  return network.kind() === address.kind() && address.match(network, bits);
}
