import ipaddr from 'ipaddr.js';
import { embeddedIPv4 } from '../../../src/webhooks/sender/embedded-ipv4.js';

test.each([
  // Examples of RFC 6052 §2.4: the well-known prefix, and a prefix of 48 bits.
  ['64:ff9b::192.0.2.33', ['192.0.2.33']],
  ['64:ff9b:1:c000:2:2100::', ['0.0.0.0', '192.0.2.33']],
  ['2002:c000:221::1', ['192.0.2.33']],
  // RFC 4380's example: server 65.54.227.120, client 192.0.2.45.
  ['2001:0:4136:e378:8000:63bf:3fff:fdd2', ['65.54.227.120', '192.0.2.45']],
  ['::c000:221', ['192.0.2.33']],
  ['::ffff:0:c000:221', ['192.0.2.33']],
  ['2606:4700:4700::1111', []],
])('%s contains %j', (address, expected) => {
  expect(embeddedIPv4(ipaddr.IPv6.parse(address)).map(String)).toEqual(expected);
});
