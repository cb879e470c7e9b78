import { errors } from 'undici';
import {
  ConnectFailure,
  detailOf,
  isOwnFault,
  ProtocolFailure,
  reasonOfExchange,
  reasonOfTcp,
  reasonOfTls,
} from '../../../src/delivery/sender/attempt-error.js';

const withCode = (code: string) => Object.assign(new Error(code), { code });

test.each([
  ['connecting', 'ECONNREFUSED', 'refused', reasonOfTcp],
  ['connecting', 'EHOSTUNREACH', 'refused', reasonOfTcp],
  ['connecting', 'ENETUNREACH', 'refused', reasonOfTcp],
  ['connecting', 'EADDRNOTAVAIL', 'refused', reasonOfTcp],
  ['connecting', 'ETIMEDOUT', 'timeout', reasonOfTcp],
  ['connecting', 'ECONNRESET', 'reset', reasonOfTcp],
  ['in the TLS handshake', 'ERR_SSL_WRONG_VERSION_NUMBER', 'tls', reasonOfTls],
  ['in the TLS handshake', 'EPROTO', 'tls', reasonOfTls],
  ['in the TLS handshake', 'ECONNRESET', 'reset', reasonOfTls],
  ['in the TLS handshake', 'ETIMEDOUT', 'timeout', reasonOfTls],
  ['after the handshake', 'UND_ERR_SOCKET', 'reset', reasonOfExchange],
  ['after the handshake', 'EPIPE', 'reset', reasonOfExchange],
  ['after the handshake', 'ETIMEDOUT', 'timeout', reasonOfExchange],
  // TLS 1.3: a server that demands a certificate sends the alert after the handshake.
  ['after the handshake', 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'tls', reasonOfExchange],
])('%s, %s is %s', (_, code, reason, reasonOf) => {
  expect(reasonOf(withCode(code))).toBe(reason);
});

test('after the handshake, a missing status line is protocol', () => {
  expect(reasonOfExchange(new ProtocolFailure('why'))).toBe('protocol');
});

test.each([
  [new ProtocolFailure('why'), 'why'],
  [new ConnectFailure('dns', 'why'), 'why'],
  [new ConnectFailure('refused'), null],
  [new errors.HTTPParserError('Expected HTTP/'), 'The HTTP parser rejects the head of the response.'],
  [new errors.ResponseContentLengthMismatchError(), 'The HTTP parser rejects the head of the response.'],
  [withCode('ECONNRESET'), null],
])('the detail of %s is %j', (error, detail) => {
  expect(detailOf(error)).toBe(detail);
});

test('a failure to connect keeps its reason', () => {
  expect(reasonOfExchange(new ConnectFailure('blocked_address'))).toBe('blocked_address');
});

test('a lack of resources on this machine is a fault of the service, not of the receiver', () => {
  expect(['EMFILE', 'ENFILE', 'UND_ERR_CLOSED'].every((code) => isOwnFault(withCode(code)))).toBe(true);
  expect(['ECONNREFUSED', 'ECONNRESET', 'UND_ERR_SOCKET'].some((code) => isOwnFault(withCode(code)))).toBe(false);
});
