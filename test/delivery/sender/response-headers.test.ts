import { createAddressGuard } from '../../../src/delivery/sender/address-guard.js';
import { createSender } from '../../../src/delivery/sender/send.js';
import { Secret } from '../../../src/platform/secret.js';
import { startRawReceiver } from '../../support/raw-receiver.js';

/** The outcome of one attempt at a receiver that writes `response` and closes. */
async function sendTo(response: string) {
  const receiver = await startRawReceiver((socket) => socket.end(response));
  const sender = createSender({ guard: createAddressGuard({ allowPrivate: true, blocked: [] }) });
  try {
    return await sender.send({ url: receiver.url, body: '{}', secret: new Secret('s'.repeat(16)), clientId: 'c' });
  } finally {
    await sender.close();
    await receiver.close();
  }
}

test('an attempt keeps the headers of the response, even of a failure', async () => {
  const head = 'HTTP/1.1 503 x\r\nRetry-After: 120\r\nServer: a\r\nSet-Cookie: session=1\r\nContent-Length: 0\r\n\r\n';
  const { responseStatus, responseHeaders } = await sendTo(head);
  expect({ responseStatus, responseHeaders }).toEqual({
    responseStatus: 503,
    responseHeaders: { 'retry-after': '120', server: 'a' },
  });
});

test('a redirect shows its address without user name, query and fragment', async () => {
  const { responseHeaders, error } = await sendTo(
    'HTTP/1.1 302 x\r\nLocation: https://user:pass@example.com/next?token=1#top\r\nContent-Length: 0\r\n\r\n',
  );
  expect([error, responseHeaders]).toEqual(['redirect', { location: 'https://example.com/next' }]);
});

test('the headers of an informational response are not kept', async () => {
  const informational = 'HTTP/1.1 103 x\r\nServer: early\r\n\r\n';
  const { responseHeaders } = await sendTo(`${informational}HTTP/1.1 204 x\r\nVia: 1.1 a\r\n\r\n`);
  expect(responseHeaders).toEqual({ via: '1.1 a' });
});

test('an attempt without a head has no headers: null', async () => {
  expect(await sendTo('no HTTP at all\r\n\r\n')).toMatchObject({ error: 'protocol', responseHeaders: null });
});
