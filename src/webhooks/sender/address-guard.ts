import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { embeddedIPv4 } from './embedded-ipv4.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Network = [Address, number];

export interface AddressGuard {
  /** Whether nothing may be sent to this IP address. What is no IP address, or carries a zone (`fe80::1%eth0`), is blocked. */
  blocks(address: string): boolean;
  /**
   * Whether a URL's host is a literal address that is blocked, in whatever notation: brackets, decimal, octal,
   * hexadecimal, short. A name is not: it is judged by its addresses when a delivery connects.
   */
  blocksLiteral(hostname: string): boolean;
}

export interface AddressGuardOptions {
  /** Opens everything but `blocked`; for the sandbox alone. */
  allowPrivate: boolean;
  /** CIDRs never delivered to, private receivers allowed or not: the operator's own addresses. */
  blocked: readonly string[];
}

/** The one part of IPv6 from which unicast addresses are given out (RFC 4291 §2.4, IANA). NAT64 (64:ff9b::/96) is outside. */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');

/** Azure's virtual public address, which serves a machine's own metadata: routable by its looks, local in truth. */
const AZURE_METADATA = ipaddr.parseCIDR('168.63.129.16/32');

/** Where receivers may live (contract): public unicast addresses, and never the operator's own. */
export function createAddressGuard({ allowPrivate, blocked }: AddressGuardOptions): AddressGuard {
  const networks = blocked.map(parseNetwork);

  function blocks(text: string): boolean {
    if (isIP(text) === 0 || text.includes('%')) return true;
    const address = parseAddress(text);
    const faces = address instanceof ipaddr.IPv6 ? [address, ...embeddedIPv4(address)] : [address];
    if (faces.some((face) => networks.some((network) => contains(network, face)))) return true;
    return !allowPrivate && !isPublic(address);
  }

  return {
    blocks,
    blocksLiteral(hostname) {
      const literal = literalOf(hostname);
      return literal !== undefined && blocks(literal);
    },
  };
}

/** An IPv4-mapped address is its IPv4 address on the wire, and judged as such. */
function parseAddress(text: string): Address {
  if (isIP(text) === 4) return ipaddr.IPv4.parse(text);
  // In hexadecimal groups, for ipaddr.js reads `::8.8.8.8` as `::ffff:8.8.8.8`, which is another address.
  return ipaddr.process(new URL(`http://[${text}]`).hostname.slice(1, -1));
}

/** 6to4, Teredo and NAT64 are no plain unicast to ipaddr.js: their gateways would reach the IPv4 address inside for us. */
function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false;
  return address instanceof ipaddr.IPv6 ? contains(GLOBAL_UNICAST, address) : !contains(AZURE_METADATA, address);
}

function contains([network, bits]: Network, address: Address): boolean {
  return network.kind() === address.kind() && address.match(network, bits);
}

/** `::ffff:203.0.113.0/120` is the IPv4 network 203.0.113.0/24. */
function parseNetwork(cidr: string): Network {
  const [network, bits] = ipaddr.parseCIDR(cidr);
  if (network instanceof ipaddr.IPv6 && network.isIPv4MappedAddress() && bits >= 96) {
    return [network.toIPv4Address(), bits - 96];
  }
  return [network, bits];
}

function literalOf(hostname: string): string | undefined {
  if (hostname.startsWith('[')) return hostname.slice(1, hostname.endsWith(']') ? -1 : undefined);
  if (isIP(hostname) !== 0) return hostname;
  // `2130706433`, `0x7f.1` and the like: addresses by the rules of the URL standard, which `connect` follows as well.
  const written = `http://${hostname}/`;
  const host = URL.canParse(written) ? new URL(written).hostname : hostname;
  return isIP(host) === 0 ? undefined : host;
}
