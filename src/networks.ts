import { isIPv6, type Server, type Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Stands for an address that a trusted proxy did not name: it lies in no network. */
export const UNKNOWN_ADDRESS = 'unknown';

/**
 * A list of CIDRs. IPv4-mapped IPv6 (`::ffff:10.0.0.1`, RFC 4291 §2.5.5.2) counts as the IPv4 address it carries, in
 * the list and in what is judged.
 */
export class Networks {
  readonly #ranges: readonly (readonly [Address, number])[];

  /** @throws Error where one of `cidrs` is no CIDR; ask `isNetwork` before. */
  constructor(cidrs: readonly string[]) {
    this.#ranges = cidrs.map(parseNetwork);
  }

  get isEmpty(): boolean {
    return this.#ranges.length === 0;
  }

  contains(address: string): boolean {
    if (this.isEmpty) return false;
    const parsed = parseAddress(address);
    return (
      parsed !== undefined &&
      this.#ranges.some(([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits))
    );
  }

  /** As an allow-list: an empty one lets everybody in. */
  allows(address: string): boolean {
    return this.isEmpty || this.contains(address);
  }
}

/** Whether `text` is a CIDR in the plain notation (no octal, hexadecimal or shortened IPv4, which others read otherwise). */
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
 * The address that a request is judged by: the socket's own, or, where that is a trusted proxy, the right-most in
 * `X-Forwarded-For` that is no trusted proxy; the left-most where all of them are. An entry that is no address ends the
 * search with `unknown`: what stands left of it was written by somebody nobody vouches for.
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
 * Cuts off whoever connects from outside of `allowedNetworks` (CIDRs; none: nobody) before a byte is read. A trusted
 * proxy is let in: whom it speaks for is judged once the headers are there.
 */
export function guardSocket(
  server: Server,
  allowedNetworks: readonly string[],
  trustedProxies: readonly string[],
): void {
  const allowed = new Networks(allowedNetworks);
  const proxies = new Networks(trustedProxies);
  server.prependListener('connection', (socket) => {
    const address = socket.remoteAddress ?? UNKNOWN_ADDRESS;
    if (!allowed.allows(address) && !proxies.contains(address)) socket.destroy();
  });
}

/**
 * What limits by address count as one: an IPv4 address, or a /64 of IPv6, which one host has to itself.
 * @param address as `clientAddress` gives it
 */
export function hostNetwork(address: string): string {
  return isIPv6(address) ? ipaddr.IPv6.networkAddressFromCIDR(`${address.split('%')[0]}/64`).toString() : address;
}

/**
 * Closes a connection that is one more than `most` from the same address. A trusted proxy is exempt: it connects for all
 * of its clients.
 */
export function limitSocketsPerAddress(server: Server, most: number, trustedProxies: readonly string[]): void {
  const proxies = new Networks(trustedProxies);
  const counts = new Map<string, number>();
  server.prependListener('connection', (socket: Socket) => {
    const address = plainAddress(socket.remoteAddress ?? UNKNOWN_ADDRESS);
    if (proxies.contains(address)) return;
    const host = hostNetwork(address);
    const count = (counts.get(host) ?? 0) + 1;
    if (count > most) {
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

/** The same few come with each request; what somebody wrote into a header may be long, and is not kept. */
const plain = new LRUCache<string, string>({ max: 1_000, memoMethod: (text) => toPlain(text) });
const LONGEST_KEPT = 64;

/** The address in its plain form, IPv4 where it is IPv4-mapped; `unknown` for anything else. */
function plainAddress(text: string): string {
  return text.length > LONGEST_KEPT ? toPlain(text) : plain.memo(text);
}

function toPlain(text: string): string {
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

function parseNetwork(cidr: string): [Address, number] {
  const [network, bits] = ipaddr.parseCIDR(cidr);
  if (network instanceof ipaddr.IPv6 && network.isIPv4MappedAddress() && bits >= 96) {
    return [network.toIPv4Address(), bits - 96];
  }
  return [network, bits];
}
