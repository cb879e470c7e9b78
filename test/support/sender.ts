import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAddressGuard } from '../../src/delivery/sender/address-guard.js';
import {
  createSender,
  type Outgoing,
  type Sender,
  type SenderOptions,
  type SendLimits,
  type SendOutcome,
} from '../../src/delivery/sender/send.js';
import { Secret } from '../../src/platform/secret.js';
import { type Answering, type RawReceiver, type RawReceiverOptions, startRawReceiver } from './raw-receiver.js';

export const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
export const secret = new Secret('whsec_0123456789abcdef');
export const body = '{"id":"1","data":{"name":"Zoë 東京"}}';
const guard = createAddressGuard({ allowPrivate: true, blocked: [] });

/** A certificate or key, valid until 2119. The issuer's key is gone: certificates.ts makes others. */
const file = (name: string) => readFileSync(join(import.meta.dirname, '../delivery/sender/certificates', name), 'utf8');
export const issuer = file('ca.pem');
export const identity = (name: string) => ({ key: file(`${name}.key`), cert: file(`${name}.pem`) });

const cleanUps: (() => unknown)[] = [];
/** Closes everything that a test has opened: call it after each. */
export async function closeAll(): Promise<void> {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
}
/** Runs `cleanUp` in `closeAll`. */
export const afterTest = (cleanUp: () => unknown) => void cleanUps.push(cleanUp);

export async function receiver(answering: Answering | string, options: RawReceiverOptions = {}): Promise<RawReceiver> {
  const started = await startRawReceiver(answering, options);
  afterTest(started.close);
  return started;
}

/** A sender that may call private addresses. */
export function sender(limits: Partial<SendLimits> = {}, options: Partial<SenderOptions> = {}): Sender {
  const made = createSender({ guard, limits, ...options });
  afterTest(made.close);
  return made;
}

/** A resolver to which every name is 127.0.0.1. */
export const loopback = { lookUp: async () => [{ address: '127.0.0.1', ttl: 60 }] };

export function outgoing(url: string, changes: Partial<Outgoing> = {}): Outgoing {
  return { url, body, secret, clientId: 'client', ...changes };
}

/** One turn of the event loop, after which undici gives a connection out again. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Sends one request to a receiver with this response. */
export async function answered(answering: Answering | string, limits?: Partial<SendLimits>): Promise<SendOutcome> {
  const { url } = await receiver(answering);
  return sender(limits).send(outgoing(url));
}
