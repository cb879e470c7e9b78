import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { createAddressGuard, embeddedIPv4, inOrder } from '../../../src/delivery/sender/address-guard.js';

const guard = createAddressGuard({ allowPrivate: false, blocked: [] });

const BLOCKED = {
  'IPv4 that is not public': `
    0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 169.254.0.1
    172.16.0.1 172.31.255.255 192.0.0.1 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.19.255.255
    198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255`,
  'metadata of a machine': '100.100.100.200 168.63.129.16 169.254.169.254 169.254.170.2 192.0.0.192',
  'IPv4 in IPv6, and this host': `
    :: ::1 ::7f00:1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:7f00:1 0:0:0:0:0:ffff:a00:1 ::ffff:169.254.169.254
    ::ffff:168.63.129.16 ::ffff:0:127.0.0.1`,
  'NAT64 of what is blocked, and every prefix but the well-known one': `
    64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b::a00:1 64:ff9b::a83f:8110 64:ff9b:0:0:0:1:808:808
    64:ff9b:1::808:808 64:ff9b:1::a00:1 64:ff9b:1:a00:0:100::`,
  'other IPv6': '100::1 100:0:0:1::1 3fff::1 4000::1 5f00::1 fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1',
  'Teredo, benchmarks, ORCHID, documentation': `
    2001::1 2001:0:4136:e378:8000:63bf:f5ff:fffe 2001:2::1 2001:10::1 2001:20::1 2001:db8::1`,
  '6to4': '2002:7f00:1::1 2002:a9fe:a9fe:: 2002:808:808::1',
  'with a zone': 'fe80::1%eth0 2606:4700:4700::1111%eth0',
};
const words = (text: string) => text.trim().split(/\s+/);

test.each(Object.entries(BLOCKED))('blocks %s', (_, addresses) => {
  expect(words(addresses).filter((address) => !guard.blocks(address))).toEqual([]);
  const literals = words(addresses).map((address) => (address.includes(':') ? `[${address}]` : address));
  expect(literals.filter((literal) => !guard.blocksLiteral(literal))).toEqual([]);
});

test.each(
  words(`
    1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.1 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.1 168.63.129.15
    168.63.129.17 169.253.255.255 169.255.0.1 172.15.255.255 172.32.0.1 192.167.255.255 192.169.0.1 198.17.255.255
    198.20.0.1 223.255.255.255 ::ffff:8.8.8.8 2001:4860:4860::8888 2606:4700:4700::1111 2a00:1450:4001:80b::200e
    2003::1 64:ff9b::808:808 64:ff9b::8.8.8.8`),
)('allows %s', (address) => {
  expect(guard.blocks(address)).toBe(false);
});

test.each([
  '',
  'localhost',
  'example.com',
  '127.1',
  '0177.0.0.1',
  '1.2.3',
  '1.2.3.4.5',
  '[::1]',
  '1.2.3.4:80',
  ' 8.8.8.8',
])('blocks %j, which is not an address', (text) => {
  expect(guard.blocks(text)).toBe(true);
});

test.each(
  words(`
    http://127.1/ http://2130706433/ http://0x7f000001/ http://0x7f.1/ http://0177.0.0.1/ http://017700000001/
    http://127.0.0.1./ http://0/ http://169.16689662/ http://0xa9fea9fe/ http://[::ffff:169.254.169.254]/
    http://[::FFFF:7F00:1]/ http://[0:0:0:0:0:0:0:1]/ http://①②⑦.⓪.⓪.①/ http://127。0。0。1/ http://%31%32%37.0.0.1/
    https://user@10.0.0.1:8443/path`),
)('blocks the literal address of %s', (url) => {
  expect(guard.blocksLiteral(new URL(url).hostname)).toBe(true);
});

test.each(['2130706433', '0x7f.1', '0177.0.0.1', '127.1', '127.0.0.1.', '::1', '[fe80::1%25eth0]', '[::1'])(
  'blocks the literal %s as written, before any URL parser',
  (hostname) => {
    expect(guard.blocksLiteral(hostname)).toBe(true);
  },
);

test.each(
  words(`
    localhost example.com 10.0.0.1.example.com 127-0-0-1.nip.io a.1.b 8.8.8.8 134744072 [2606:4700:4700::1111]
    [64:ff9b::808:808]`),
)('does not block the host %s: a name, or a public address', (hostname) => {
  expect(guard.blocksLiteral(hostname)).toBe(false);
});

describe("the operator's own networks", () => {
  const own = { blocked: ['8.8.0.0/16', '2606:4700::/32', '::ffff:9.9.9.0/120'] };
  const inside = words(`
    8.8.8.8 ::ffff:8.8.8.8 64:ff9b::808:808 64:ff9b:1:808:8:800:: 64:ff9b:1::808:808 2002:808:808::1
    2001:0:808:808::1 2001:0:4136:e378:8000:63bf:f7f7:f7f7 ::ffff:0:8.8.8.8 2606:4700:4700::1111 9.9.9.9
    ::ffff:9.9.9.9`);

  test.each([true, false])('are blocked in every form, private receivers allowed: %s', (allowPrivate) => {
    const { blocks } = createAddressGuard({ allowPrivate, ...own });
    expect(inside.filter((address) => !blocks(address))).toEqual([]);
    expect(['8.9.0.1', '9.9.8.9', '2606:4701::1', '1.1.1.1'].filter(blocks)).toEqual([]);
  });

  test('may be all of IPv4', () => {
    const { blocks } = createAddressGuard({ allowPrivate: true, blocked: ['0.0.0.0/0'] });
    expect([blocks('1.1.1.1'), blocks('::ffff:1.1.1.1'), blocks('2606:4700::1')]).toEqual([true, true, false]);
  });
});

describe('with private receivers allowed', () => {
  const { blocks, blocksLiteral } = createAddressGuard({ allowPrivate: true, blocked: [] });

  test('private addresses are allowed, and texts that are not addresses stay blocked', () => {
    expect(['127.0.0.1', '::1', '10.0.0.1', 'fd00::1', '::ffff:127.0.0.1'].filter(blocks)).toEqual([]);
    expect(blocksLiteral('[::1]')).toBe(false);
    expect([blocks('fe80::1%eth0'), blocks('nonsense')]).toEqual([true, true]);
  });

  test('the services that hold the credentials of a machine stay blocked, in every form', () => {
    // AWS, Google, Azure; AWS's containers and pods; Alibaba; Azure; Oracle; over IPv6 AWS, its pods, Google, Scaleway.
    const services = words(`
      169.254.169.254 169.254.170.2 169.254.170.23 100.100.100.200 168.63.129.16 192.0.0.192
      fd00:ec2::254 fd00:ec2::23 fd20:ce::254 fd00:42::42 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe 2002:a9fe:a9fe::`);
    expect(services.filter((address) => !blocks(address))).toEqual([]);
    const literals = services.map((address) => (address.includes(':') ? `[${address}]` : address));
    expect(literals.filter((literal) => !blocksLiteral(literal))).toEqual([]);
  });

  test('a metadata address stays blocked in every notation', () => {
    expect(['2852039166', '0xa9fea9fe', '0251.0376.0251.0376', '169.254.43518'].filter(blocksLiteral)).toHaveLength(4);
  });
});

test.each(['::ffff:', '64:ff9b::'])('an IPv4 address and its form with %s get the same result', (prefix) => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      expect(guard.blocks(prefix + address)).toBe(guard.blocks(address));
    }),
  );
});

test('no IPv6 address outside 2000::/3 is allowed, except public IPv4, mapped or by DNS64', () => {
  fc.assert(
    fc.property(
      fc.tuple(
        fc.integer({ min: 0, max: 0xffff }),
        fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 7, maxLength: 7 }),
      ),
      ([first, rest]) => {
        fc.pre(first < 0x2000 || first > 0x3fff);
        fc.pre(!(first === 0 && rest.slice(0, 5).join() === '0,0,0,0,65535'));
        fc.pre(!(first === 0x64 && rest.slice(0, 5).join() === '65435,0,0,0,0'));
        expect(guard.blocks([first, ...rest].map((part) => part.toString(16)).join(':'))).toBe(true);
      },
    ),
  );
});

test.each([
  [
    ['8.8.8.8', '8.8.4.4', '2001:4860::1', '2001:4860::2', '2001:4860::3'],
    ['8.8.8.8', '2001:4860::1', '8.8.4.4', '2001:4860::2', '2001:4860::3'],
  ],
  [
    ['64:ff9b::808:404', '64:ff9b::808:808', '8.8.8.8', '8.8.4.4'],
    ['8.8.8.8', '64:ff9b::808:808', '8.8.4.4', '64:ff9b::808:404'],
  ],
  [
    ['64:ff9b::808:404', '64:ff9b::101:101', '1.1.1.1'],
    ['1.1.1.1', '64:ff9b::101:101', '64:ff9b::808:404'],
  ],
  [
    ['2001:4860::1', '8.8.8.8'],
    ['8.8.8.8', '2001:4860::1'],
  ],
  [['64:ff9b::808:404'], ['64:ff9b::808:404']],
])('%j are tried as %j', (addresses, order) => {
  expect(inOrder(addresses)).toEqual(order);
});

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
