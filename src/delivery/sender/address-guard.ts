import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Config } from '../../platform/config/config.js';
import { type Address, isIn, parseNetwork } from '../../platform/networks.js';

export type AddressGuard = ReturnType<typeof createAddressGuard>;

/** The only IPv6 range from which IANA assigns unicast addresses (RFC 4291 §2.4). */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');

/**
 * Where cloud platforms serve a machine its own credentials: link-local addresses (AWS, Google, Azure and others),
 * Alibaba, Azure's virtual public address, Oracle, and AWS, Google and Scaleway over IPv6. No receiver lives there, so
 * they are blocked even if private receivers are allowed: a sandbox in a cloud must not hand out its machine's
 * credentials.
 */
const METADATA = [
  '169.254.0.0/16',
  '100.100.100.200/32',
  '168.63.129.16/32',
  '192.0.0.192/32',
  'fe80::/10',
  'fd00:ec2::/32',
  'fd20:ce::254/128',
  'fd00:42::42/128',
].map(parseNetwork);

/**
 * Creates the check of receivers' addresses: public unicast addresses are allowed, the operator's own and
 * those that serve metadata never.
 * @param receivers.allowPrivate allows all addresses except those two; only the sandbox sets it
 * @param receivers.blocked the operator's own addresses, as CIDRs
 */
export function createAddressGuard({ allowPrivate, blocked }: Config['receivers']) {
  const networks = [...METADATA, ...blocked.map(parseNetwork)];

  /**
   * Whether this IP address is blocked. A text that is not an IP address, or has a zone (`fe80::1%eth0`), is blocked
   * too.
   */
  function blocks(text: string): boolean {
    if (isIP(text) === 0 || text.includes('%')) return true;
    const address = parseAddress(text);
    const reached = address instanceof ipaddr.IPv6 ? [address, ...embeddedIPv4(address)] : [address];
    if (reached.some((one) => networks.some((network) => isIn(network, one)))) return true;
    return !allowPrivate && !isPublic(address);
  }

  return {
    blocks,
    /**
     * Whether a URL's host is a blocked literal address in any notation: brackets, decimal, octal, hexadecimal, short.
     * A DNS name is not blocked here: its addresses are checked when a delivery connects.
     */
    blocksLiteral(hostname: string): boolean {
      const literal = literalOf(hostname);
      return literal !== undefined && blocks(literal);
    },
  };
}

/** Parses an address. An IPv4-mapped address becomes its IPv4 address, which is what a connection to it reaches. */
function parseAddress(text: string): Address {
  if (isIP(text) === 4) return ipaddr.IPv4.parse(text);
  // The URL parser writes hexadecimal groups. ipaddr.js would read `::8.8.8.8` as `::ffff:8.8.8.8`, another address.
  return ipaddr.process(new URL(`http://[${text}]`).hostname.slice(1, -1));
}

/**
 * ipaddr.js does not count 6to4, Teredo and NAT64 as unicast: their gateways would reach the embedded IPv4 address for
 * us. A network with DNS64 gives each name with an A record an address of the well-known NAT64 prefix, which is as
 * public as the IPv4 address in it.
 */
function isPublic(address: Address): boolean {
  const reached = throughNat64(address) ?? address;
  if (reached.range() !== 'unicast') return false;
  return reached instanceof ipaddr.IPv4 || isIn(GLOBAL_UNICAST, reached);
}

const WELL_KNOWN_NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

function throughNat64(address: Address): ipaddr.IPv4 | undefined {
  if (address instanceof ipaddr.IPv4 || !address.match(WELL_KNOWN_NAT64)) return undefined;
  return embeddedIPv4(address)[0];
}

/**
 * The addresses of a name in the order in which to try them. IPv4 comes first: every receiver has it, and a worker may
 * lack IPv6. Then the families take turns, so that the first few include both. An address that DNS64 derived follows
 * the one that it contains: only a worker without IPv4 needs it.
 */
export function inOrder(addresses: readonly string[]): string[] {
  const parsed = addresses.map((text) => ({ text, inside: throughNat64(parseAddress(text))?.toString() }));
  const four = parsed.filter(({ text }) => isIP(text) === 4);
  const derived = parsed.filter(({ inside }) => four.some(({ text }) => text === inside));
  const six = parsed.filter((one) => !four.includes(one) && !derived.includes(one));
  return Array.from({ length: Math.max(four.length, six.length) }, (_, i) => [
    ...four.slice(i, i + 1),
    ...derived.filter(({ inside }) => inside === four[i]?.text),
    ...six.slice(i, i + 1),
  ])
    .flat()
    .map(({ text }) => text);
}

function literalOf(hostname: string): string | undefined {
  if (hostname.startsWith('[')) return hostname.slice(1, hostname.endsWith(']') ? -1 : undefined);
  if (isIP(hostname) !== 0) return hostname;
  // `2130706433` and `0x7f.1` are addresses by the rules of the URL standard, which `connect` follows too.
  const written = `http://${hostname}/`;
  const host = URL.canParse(written) ? new URL(written).hostname : hostname;
  return isIP(host) === 0 ? undefined : host;
}

/**
 * Prefixes whose last 32 bits are an IPv4 address: compatible (RFC 4291), translated (RFC 2765), NAT64 (RFC 6052, RFC
 * 8215).
 */
const IN_LAST_BITS = ['::/96', '::ffff:0:0:0/96', '64:ff9b::/96', '64:ff9b:1::/48'].map((cidr) =>
  ipaddr.IPv6.parseCIDR(cidr),
);
const LOCAL_NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b:1::/48');
const SIX_TO_FOUR = ipaddr.IPv6.parseCIDR('2002::/16');
const TEREDO = ipaddr.IPv6.parseCIDR('2001::/32');

/** The IPv4 addresses that a translator or tunnel would reach for this IPv6 address; none for an ordinary address. */
export function embeddedIPv4(address: ipaddr.IPv6): ipaddr.IPv4[] {
  const bytes = address.toByteArray();
  const at = (...positions: number[]) => new ipaddr.IPv4(positions.map((position) => bytes[position] ?? 0));
  const found: ipaddr.IPv4[] = [];
  if (IN_LAST_BITS.some((network) => address.match(network))) found.push(at(12, 13, 14, 15));
  // RFC 6052 §2.2: with a prefix of 48 bits, the IPv4 address skips octet 8.
  if (address.match(LOCAL_NAT64)) found.push(at(6, 7, 9, 10));
  if (address.match(SIX_TO_FOUR)) found.push(at(2, 3, 4, 5));
  if (address.match(TEREDO)) {
    // RFC 4380 §4: the server's address, and the client's address with every bit inverted.
    found.push(at(4, 5, 6, 7), new ipaddr.IPv4(bytes.slice(12).map((byte) => byte ^ 0xff)));
  }
  return found;
}
