import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { clientAddress, guardSockets, isNetwork, Networks } from '../../src/platform/networks.js';

describe('isNetwork', () => {
  it.each(['10.0.0.0/8', '203.0.113.7/32', '0.0.0.0/0', '::/0', '2001:db8::/32', '::ffff:10.0.0.0/104', '10.1.2.3/8'])(
    'accepts the CIDR %s',
    (text) => expect(isNetwork(text)).toBe(true),
  );

  it.each([
    '',
    '10.0.0.1',
    '10.0.0.0/33',
    '10.0.0.0/8/8',
    '010.0.0.0/8',
    '0x0a.0.0.0/8',
    '2001:db8::/129',
    'localhost/8',
    '10.0.0.0/8\0',
    ' 10.0.0.0/8',
  ])('rejects %j', (text) => expect(isNetwork(text)).toBe(false));
});

describe('a list of networks', () => {
  it.each([
    ['10.0.0.0/8', '10.255.0.1', true],
    ['10.0.0.0/8', '11.0.0.1', false],
    ['10.1.2.3/8', '10.200.0.1', true],
    ['10.0.0.0/8', '::ffff:10.0.0.1', true],
    ['::ffff:10.0.0.0/104', '10.0.0.1', true],
    ['::ffff:10.0.0.0/104', '11.0.0.1', false],
    ['2001:db8::/32', '2001:db8:1::1', true],
    ['2001:db8::/32', '2001:db9::1', false],
    ['::/0', '10.0.0.1', false],
    ['0.0.0.0/0', '::1', false],
    ['fe80::/10', 'fe80::1%eth0', true],
    ['0.0.0.0/0', 'unknown', false],
    ['0.0.0.0/0', '', false],
  ])('%s contains %s: %s', (network, address, expected) => {
    expect(new Networks([network]).contains(address)).toBe(expected);
  });

  it('allows every address and contains none when it is empty', () => {
    const none = new Networks([]);
    expect([none.allows('192.0.2.1'), none.allows('unknown'), none.contains('192.0.2.1')]).toEqual([true, true, false]);
  });
});

describe("the client's address of a request", () => {
  const proxies = new Networks(['10.0.0.0/8', '2001:db8:ff::/48']);

  it.each([
    ['that of the socket when it is not a trusted proxy', '192.0.2.1', '198.51.100.1', '192.0.2.1'],
    ['that of the socket, in plain IPv4', '::ffff:192.0.2.1', undefined, '192.0.2.1'],
    ['the address that the proxy saw', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
    [
      'the address that the proxy saw, whatever the client wrote before it',
      '10.0.0.1',
      '10.0.0.9, 1.1.1.1, 198.51.100.1',
      '198.51.100.1',
    ],
    ['the address before a second proxy', '::ffff:10.0.0.1', '198.51.100.1, 10.0.0.2', '198.51.100.1'],
    ['an IPv6 address', '2001:db8:ff::1', '2001:db8:1::5', '2001:db8:1::5'],
    ['plain IPv4 when the header has IPv4-mapped IPv6', '10.0.0.1', '::ffff:198.51.100.1', '198.51.100.1'],
    ['read without its port', '10.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
    ['read without its brackets and port', '10.0.0.1', '[2001:db8:1::5]:4711', '2001:db8:1::5'],
    ['that of the proxy when there is no header', '10.0.0.1', undefined, '10.0.0.1'],
    ['the left-most entry when all entries are trusted proxies', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['unknown when the proxy does not know it', '10.0.0.1', '198.51.100.1, unknown', 'unknown'],
    ['unknown when the entry is not an address', '10.0.0.1', '198.51.100.1, <script>', 'unknown'],
    ['unknown when the socket is closed', undefined, '198.51.100.1', 'unknown'],
  ])('is %s', (_, socket, header, expected) => {
    expect(clientAddress(socket, header, proxies)).toBe(expected);
  });

  it('is never chosen by a client: entries left of the entry of the last proxy are ignored', () => {
    fc.assert(
      fc.property(fc.string(), fc.ipV4(), (written, seen) => {
        const real = clientAddress('10.0.0.1', seen, proxies);
        fc.pre(!proxies.contains(real));
        expect(clientAddress('10.0.0.1', `${written}, ${seen}`, proxies)).toBe(real);
      }),
    );
  });
});

describe('guardSockets', () => {
  let server: Server;
  let requests = 0;
  afterEach(() => new Promise((resolve) => server.close(resolve)));

  async function responseWith(allowed: string[], proxies: string[]): Promise<string> {
    requests = 0;
    server = createServer((_, response) => {
      requests++;
      response.end('hello');
    });
    guardSockets(server, { allowedNetworks: allowed, trustedProxies: proxies, connectionsPerAddress: 10 });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new Promise((resolve) => {
      let text = '';
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      socket.on('data', (bytes) => {
        text += bytes;
      });
      socket.on('error', () => {});
      socket.on('close', () => resolve(text));
      socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    });
  }

  it('closes a connection from an address that is not allowed, without a response', async () => {
    expect(await responseWith(['192.0.2.0/24'], [])).toBe('');
    expect(requests).toBe(0);
  });

  it.each([
    ['the allow-list is empty', [], []],
    ['its address is allowed', ['127.0.0.0/8'], []],
    ['its address is a trusted proxy', ['192.0.2.0/24'], ['127.0.0.1/32']],
  ])('accepts a connection when %s', async (_, allowed, proxies) => {
    expect(await responseWith(allowed, proxies)).toContain('200 OK');
  });
});
