import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { clientAddress, guardSocket, isNetwork, Networks } from '../src/networks.js';

describe('a network', () => {
  it.each(['10.0.0.0/8', '203.0.113.7/32', '0.0.0.0/0', '::/0', '2001:db8::/32', '::ffff:10.0.0.0/104', '10.1.2.3/8'])(
    '%s is one',
    (text) => expect(isNetwork(text)).toBe(true),
  );

  it.each([
    '',
    '10.0.0.1',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/08',
    '10.0.0.0/8/8',
    '10.0.0.0/ 8',
    '10/8',
    '010.0.0.0/8',
    '0x0a.0.0.0/8',
    '167772160/8',
    '2001:db8::/129',
    'localhost/8',
    '10.0.0.0/8\0',
    ' 10.0.0.0/8',
  ])('%j is none', (text) => expect(isNetwork(text)).toBe(false));
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

  it('that is empty allows everybody and contains nobody', () => {
    const none = new Networks([]);
    expect([none.allows('192.0.2.1'), none.allows('unknown'), none.contains('192.0.2.1')]).toEqual([true, true, false]);
  });
});

describe('the address a request is judged by', () => {
  const proxies = new Networks(['10.0.0.0/8', '2001:db8:ff::/48']);

  it.each([
    ['the socket, where it is no proxy', '192.0.2.1', '198.51.100.1', '192.0.2.1'],
    ['the socket, in plain IPv4', '::ffff:192.0.2.1', undefined, '192.0.2.1'],
    ['what the proxy saw', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
    [
      'what the proxy saw, whatever the client wrote before',
      '10.0.0.1',
      '10.0.0.9, 1.1.1.1, 198.51.100.1',
      '198.51.100.1',
    ],
    ['past a second proxy', '::ffff:10.0.0.1', '198.51.100.1, 10.0.0.2', '198.51.100.1'],
    ['IPv6', '2001:db8:ff::1', '2001:db8:1::5', '2001:db8:1::5'],
    ['IPv4-mapped in the header', '10.0.0.1', '::ffff:198.51.100.1', '198.51.100.1'],
    ['with a port', '10.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
    ['in brackets with a port', '10.0.0.1', '[2001:db8:1::5]:4711', '2001:db8:1::5'],
    ['in brackets', '10.0.0.1', '[2001:db8:1::5]', '2001:db8:1::5'],
    ['the proxy itself, where it names nobody', '10.0.0.1', undefined, '10.0.0.1'],
    ['the proxy itself, where the header is blank', '10.0.0.1', ' , ', '10.0.0.1'],
    ['the left-most, where all are proxies', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['unknown, where the proxy does not know', '10.0.0.1', '198.51.100.1, unknown', 'unknown'],
    ['unknown, where the entry is garbage', '10.0.0.1', '198.51.100.1, <script>', 'unknown'],
    ['unknown, where the socket has gone', undefined, '198.51.100.1', 'unknown'],
  ])('is %s', (_, socket, header, expected) => {
    expect(clientAddress(socket, header, proxies)).toBe(expected);
  });

  it('is never chosen by a client: what stands left of the entry of the last proxy does not count', () => {
    fc.assert(
      fc.property(fc.string(), fc.ipV4(), (written, seen) => {
        const honest = clientAddress('10.0.0.1', seen, proxies);
        fc.pre(!proxies.contains(honest));
        expect(clientAddress('10.0.0.1', `${written}, ${seen}`, proxies)).toBe(honest);
      }),
    );
  });

  it('is one, or unknown, whatever the header holds', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (header) => {
        const address = clientAddress('10.0.0.1', header, proxies);
        expect(address === 'unknown' || new Networks(['0.0.0.0/0', '::/0']).contains(address)).toBe(true);
      }),
    );
  });
});

describe('the guard of the socket', () => {
  let server: Server;
  let requests = 0;
  afterEach(() => new Promise((resolve) => server.close(resolve)));

  async function answerTo(allowed: string[], proxies: string[]): Promise<string> {
    requests = 0;
    server = createServer((_, response) => {
      requests++;
      response.end('hello');
    });
    guardSocket(server, allowed, proxies);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new Promise((resolve) => {
      let answer = '';
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      socket.on('data', (bytes) => {
        answer += bytes;
      });
      socket.on('error', () => {});
      socket.on('close', () => resolve(answer));
      socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    });
  }

  it('cuts off who is not allowed, without an answer', async () => {
    expect(await answerTo(['192.0.2.0/24'], [])).toBe('');
    expect(requests).toBe(0);
  });

  it.each([
    ['nobody is named', [], []],
    ['it is allowed', ['127.0.0.0/8'], []],
    ['it is a trusted proxy', ['192.0.2.0/24'], ['127.0.0.1/32']],
  ])('lets in where %s', async (_, allowed, proxies) => {
    expect(await answerTo(allowed, proxies)).toContain('200 OK');
  });
});
