import { createSocket, type RemoteInfo } from 'node:dgram';
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  askNameServers,
  createHostsFile,
  createResolver,
  type LookUp,
  type ResolvedAddress,
} from '../../../src/delivery/sender/resolver.js';
import { waitFor } from '../../support/wait-for.js';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

function resolver(lookUp: LookUp) {
  const made = createResolver({ lookUp, hostsFile: '/nonexistent' });
  cleanUps.push(made.close);
  return made;
}

/** Look-ups that the test resolves itself. */
function manualLookUps() {
  const asked: { name: string; resolve: (addresses: ResolvedAddress[]) => void }[] = [];
  const lookUp: LookUp = (name) => new Promise((resolve) => asked.push({ name, resolve }));
  return { asked, lookUp };
}

const one = (address: string, ttl = 60): ResolvedAddress[] => [{ address, ttl }];

test('localhost and names below it resolve to this machine without a look-up (RFC 6761)', async () => {
  const { asked, lookUp } = manualLookUps();
  const resolve = resolver(lookUp).forClient();
  for (const name of ['localhost', 'LOCALHOST', 'localhost.', 'a.b.localhost']) {
    expect(await resolve(name)).toEqual(['127.0.0.1', '::1']);
  }
  expect(asked).toEqual([]);
});

test('a result is cached for its time to live, for every spelling of the name and for every client', async () => {
  let asked = 0;
  const { forClient } = resolver(async () => one(`192.0.2.${++asked}`));
  expect(await forClient()('Receiver.test')).toEqual(['192.0.2.1']);
  expect(await forClient()('receiver.TEST.')).toEqual(['192.0.2.1']);
  expect(asked).toBe(1);
});

test('a result with a time to live of 0 is not cached, and neither is a failure', async () => {
  let asked = 0;
  const results: ResolvedAddress[][] = [[], one('192.0.2.1', 0), one('192.0.2.2')];
  const resolve = resolver(async () => results[asked++] ?? []).forClient();
  await expect(resolve('receiver.test')).rejects.toMatchObject({ reason: 'dns' });
  expect(await resolve('receiver.test')).toEqual(['192.0.2.1']);
  expect(await resolve('receiver.test')).toEqual(['192.0.2.2']);
});

test('a name is looked up once for all waiting attempts; a client has at most ten concurrent look-ups; other clients do not wait', async () => {
  const { asked, lookUp } = manualLookUps();
  const { forClient } = resolver(lookUp);
  const greedy = forClient();
  const names = Array.from({ length: 25 }, (_, i) => `r${i}.test`);
  const all = Promise.all([...names, ...names].map((name) => greedy(name)));
  await waitFor('ten look-ups', () => asked.length === 10);
  const other = forClient()('other.test');
  await waitFor("the other client's look-up", () => asked.length === 11);
  asked[10]!.resolve(one('192.0.2.200'));
  expect(await other).toEqual(['192.0.2.200']);
  for (let i = 0; i < 26; i++) {
    await waitFor('the next look-up', () => asked[i] !== undefined);
    asked[i]!.resolve(one('192.0.2.1'));
  }
  expect(await all).toHaveLength(50);
  expect(asked).toHaveLength(26);
});

test('a name without an address fails with dns, and the detail says that search domains are not used', async () => {
  const resolve = resolver(async () => []).forClient();
  await expect(resolve('receiver')).rejects.toMatchObject({
    reason: 'dns',
    detail: expect.stringContaining('short names and search domains are not resolved'),
  });
});

describe('asking name servers', () => {
  const A = 1;
  const AAAA = 28;
  type Zone = (name: string, type: number) => { code: number; ttl?: number; data?: number[][] } | undefined;

  /** A name server on UDP (RFC 1035 §4.1). It responds from `zone`, and never if `zone` returns undefined. */
  async function nameServer(zone: Zone) {
    const socket = createSocket('udp4');
    let asked = 0;
    socket.on('message', (query: Buffer, from: RemoteInfo) => {
      asked++;
      const labels: string[] = [];
      let at = 12;
      for (let length = query[at]!; length > 0; length = query[at]!) {
        labels.push(query.toString('latin1', at + 1, at + 1 + length));
        at += 1 + length;
      }
      const type = query.readUInt16BE(at + 1);
      const answer = zone(labels.join('.'), type);
      if (!answer) return;
      const { code, ttl = 60, data = [] } = answer;
      const head = Buffer.from(query.subarray(0, 12));
      head.writeUInt16BE(0x8180 | code, 2);
      head.writeUInt16BE(data.length, 6);
      head.writeUInt32BE(0, 8);
      const records = data.map((bytes) => {
        const record = Buffer.alloc(12);
        record.writeUInt16BE(0xc00c, 0);
        record.writeUInt16BE(type, 2);
        record.writeUInt16BE(1, 4);
        record.writeUInt32BE(ttl, 6);
        record.writeUInt16BE(bytes.length, 10);
        return Buffer.concat([record, Buffer.from(bytes)]);
      });
      socket.send(Buffer.concat([head, query.subarray(12, at + 5), ...records]), from.port, from.address);
    });
    await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
    cleanUps.push(() => socket.close());
    return { lookUp: askNameServers([`127.0.0.1:${socket.address().port}`]), asked: () => asked };
  }

  const never = new AbortController().signal;
  const six = [0x20, 0x01, 0x0d, 0xb8, ...Array(11).fill(0), 1];

  test('returns A and AAAA records, IPv4 first, with their time to live', async () => {
    const { lookUp } = await nameServer((_, type) => ({
      code: 0,
      ttl: type === A ? 7 : 9,
      data:
        type === A
          ? [
              [192, 0, 2, 1],
              [192, 0, 2, 2],
            ]
          : [six],
    }));
    expect(await lookUp('receiver.test', never)).toMatchObject([
      { address: '192.0.2.1', ttl: 7 },
      { address: '192.0.2.2', ttl: 7 },
      { address: '2001:db8::1', ttl: 9 },
    ]);
  });

  test.each([
    ['has no record', A, { code: 0 }],
    ['fails', AAAA, { code: 2 }],
  ])('one family is enough when the other %s', async (_, failing, answer) => {
    const { lookUp } = await nameServer((_, type) =>
      type === failing ? answer : { code: 0, data: [type === A ? [192, 0, 2, 1] : six] },
    );
    expect(await lookUp('receiver.test', never)).toHaveLength(1);
  });

  test('a look-up at a name server that never responds ends when the signal aborts', async () => {
    const { lookUp, asked } = await nameServer(() => undefined);
    const stop = new AbortController();
    const found = lookUp('receiver.test', stop.signal);
    await waitFor('the query', () => asked() > 0);
    stop.abort();
    expect(await found).toEqual([]);
    await expect(lookUp('receiver.test', stop.signal)).rejects.toThrow();
  });
});

const folder = mkdtempSync(join(tmpdir(), 'hosts-'));
const path = join(folder, 'hosts');
afterAll(() => rmSync(folder, { recursive: true }));

function write(text: string, changedAt: number): void {
  writeFileSync(path, text);
  utimesSync(path, changedAt, changedAt);
}

test('reads several names in one line and in several, and skips comments and malformed lines', () => {
  write('# 10.0.0.9 commented\n127.0.0.1\tlocalhost  Alias # alias2\nfd00::1 alias\nnonsense other\n\n10.0.0.1\n', 1);
  const addressesOf = createHostsFile(path);
  expect(addressesOf('localhost')).toEqual(['127.0.0.1']);
  expect(addressesOf('alias')).toEqual(['127.0.0.1', 'fd00::1']);
  expect(['commented', 'alias2', 'other', 'missing'].map(addressesOf)).toEqual([[], [], [], []]);
});

test('reads a changed file again, and treats a removed file as empty', () => {
  write('10.0.0.1 receiver\n', 1);
  const addressesOf = createHostsFile(path);
  expect(addressesOf('receiver')).toEqual(['10.0.0.1']);
  write('10.0.0.2 receiver\n', 2);
  expect(addressesOf('receiver')).toEqual(['10.0.0.2']);
  rmSync(path);
  expect(addressesOf('receiver')).toEqual([]);
});
