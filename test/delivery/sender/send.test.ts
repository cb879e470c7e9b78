import { verify } from '../../../clients/typescript/src/verify.js';
import { Secret } from '../../../src/platform/secret.js';
import type { Answering } from '../../support/raw-receiver.js';
import { answered, body, closeAll, OK, outgoing, receiver, secret, sender, turn } from '../../support/sender.js';

afterEach(closeAll);

test('the request on the wire is exactly the documented request', async () => {
  const { url, port, requests } = await receiver(OK);
  const outcome = await sender().send(outgoing(`${url}/hooks/a%20b?token=x&y=1`));
  expect(outcome).toMatchObject({ error: null, responseStatus: 200, responseBody: null });
  const [head, sent] = requests[0]!.split('\r\n\r\n') as [string, string];
  const [line, ...headers] = head.split('\r\n');
  expect(line).toBe('POST /hooks/a%20b?token=x&y=1 HTTP/1.1');
  const signature = headers
    .find((header) => header.startsWith('Service-Signature: '))!
    .slice('Service-Signature: '.length);
  expect(signature).toMatch(/^t=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z,v0=[0-9a-f]{64}$/);
  expect(headers.sort()).toEqual([
    'Accept: */*',
    'Content-Type: application/json',
    `Service-Signature: ${signature}`,
    'User-Agent: Service-Webhooks/1.0',
    'connection: keep-alive',
    `content-length: ${Buffer.byteLength(body)}`,
    `host: 127.0.0.1:${port}`,
  ]);
  expect(Buffer.from(sent, 'latin1').toString()).toBe(body);
  expect(verify({ header: signature, body: Buffer.from(sent, 'latin1'), secret: secret.reveal() }).t).toEqual(
    outcome.startedAt,
  );
  expect(outcome.t).toBe(outcome.startedAt.toISOString());
});

test("the owner's headers are sent as given, and an echo of their values is not recorded", async () => {
  const { url, requests } = await receiver((socket) => {
    const head = 'HTTP/1.1 403 X\r\nX-Request-Id: of gateway "key"\r\nConnection: close\r\n\r\n';
    socket.end(`${head}${JSON.stringify({ refused: 'gateway "key"', plan: 'a' })} gateway "key" __Proto__: a, a`);
  });
  const headers = [
    { name: 'X-Api-KEY', value: new Secret('gateway "key"') },
    { name: '__proto__', value: new Secret('a') },
  ];
  const outcome = await sender().send({ ...outgoing(url), headers });
  expect(requests[0]).toContain('\r\nX-Api-KEY: gateway "key"\r\n__proto__: a\r\n');
  expect(outcome.responseHeaders).toMatchObject({ 'x-request-id': 'of ***' });
  expect(outcome.responseBody).toBe('{"refused":"***","plan":"a"} *** __Proto__: ***, a');
});

test.each([
  ['', '/'],
  ['?', '/?'],
  ["?$filter=name%20eq%20'x'", "/?$filter=name%20eq%20'x'"],
  ["/it's/a%2fB/?", "/it's/a%2fB/?"],
  ['/hook?x=/../&y=a?b', '/hook?x=/../&y=a?b'],
])('the path and query %j are sent byte for byte', async (registered, sent) => {
  const { url, requests } = await receiver(OK);
  expect((await sender().send(outgoing(url + registered))).error).toBeNull();
  expect(requests[0]).toMatch(`POST ${sent} HTTP/1.1\r\n`);
});

describe('a response status', () => {
  const withStatus = (status: number) =>
    `HTTP/1.1 ${status} X\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 2\r\n\r\nhi`;

  test.each([200, 201, 202, 206, 299])('%i is success', async (status) => {
    expect(await answered(withStatus(status))).toMatchObject({
      error: null,
      responseStatus: status,
      responseBody: 'hi',
    });
  });

  test('comes with the headers of its own head, and not with those of a 1xx', async () => {
    const head =
      'HTTP/1.1 503 x\r\nRetry-After: 120\r\nServer: a\r\nSet-Cookie: session=1\r\nContent-Length: 0\r\n\r\n';
    const { responseStatus, responseHeaders } = await answered(`HTTP/1.1 103 x\r\nVia: early\r\n\r\n${head}`);
    expect([responseStatus, responseHeaders]).toEqual([503, { 'retry-after': '120', server: 'a' }]);
  });

  test.each([300, 301, 302, 303, 307, 308, 399])('%i is a redirect, which is not followed', async (status) => {
    const { url, requests } = await receiver(withStatus(status));
    expect(await sender().send(outgoing(url))).toMatchObject({
      error: 'redirect',
      responseStatus: status,
      responseBody: 'hi',
    });
    expect(requests).toHaveLength(1);
  });

  test.each([400, 401, 404, 410, 429, 500, 503, 599, 600, 999])('%i is a failure', async (status) => {
    expect(await answered(withStatus(status))).toMatchObject({
      error: 'status',
      responseStatus: status,
      responseBody: 'hi',
    });
  });
});

describe('the response body', () => {
  const chunked = (...chunks: Buffer[]) =>
    Buffer.concat([
      Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'),
      ...chunks.flatMap((chunk) => [Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]),
      Buffer.from('0\r\n\r\n'),
    ]);

  test('is kept up to 4 KiB and read to its end, so that the connection is reused', async () => {
    const { url, connections } = await receiver((socket) =>
      socket.write(chunked(Buffer.alloc(3000, 'a'), Buffer.alloc(60_000, 'b'))),
    );
    const { send } = sender();
    const { responseBody } = await send(outgoing(url));
    expect(responseBody).toBe('a'.repeat(3000) + 'b'.repeat(1096));
    await turn();
    await send(outgoing(url));
    expect(connections()).toBe(1);
  });

  test('is decoded as UTF-8 with replacement, without U+0000', async () => {
    const bytes = Buffer.concat([Buffer.from('a\0é'), Buffer.from([0xff, 0xc3, 0x28])]);
    expect((await answered((socket) => socket.write(chunked(bytes)))).responseBody).toBe('aé\ufffd\ufffd(');
  });

  test.each<[string, Answering]>([
    [
      'breaks off',
      (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc', () => socket.resetAndDestroy()),
    ],
    ['is shorter than announced', (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc')],
    [
      'is garbage where a chunk should be',
      (socket) => socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n'),
    ],
  ])('that %s leaves the attempt a success', async (_, answering) => {
    expect(await answered(answering)).toMatchObject({ error: null, responseStatus: 200 });
  });
});
