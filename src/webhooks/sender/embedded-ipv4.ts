import ipaddr from 'ipaddr.js';

/**
 * Prefixes whose last 32 bits are an IPv4 address: compatible (RFC 4291), translated (RFC 2765), NAT64 (RFC 6052, RFC
 * 8215).
 */
const IN_LAST_BITS = ['::/96', '::ffff:0:0:0/96', '64:ff9b::/96', '64:ff9b:1::/48'].map(ipv6Network);
const LOCAL_NAT64 = ipv6Network('64:ff9b:1::/48');
const SIX_TO_FOUR = ipv6Network('2002::/16');
const TEREDO = ipv6Network('2001::/32');

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

function ipv6Network(cidr: string): [ipaddr.IPv6, number] {
  return ipaddr.IPv6.parseCIDR(cidr);
}
