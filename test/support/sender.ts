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
import { type Answering, type RawReceiver, startRawReceiver } from './raw-receiver.js';

export const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
export const secret = new Secret('whsec_0123456789abcdef');
export const body = '{"id":"1","data":{"name":"Zoë 東京"}}';
const guard = createAddressGuard({ allowPrivate: true, blocked: [] });

const cleanUps: (() => Promise<void>)[] = [];
/** Closes every receiver and every sender that a test has opened. */
export async function closeAll(): Promise<void> {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
}

export async function receiver(
  answering: Answering | string,
  at: { host?: string; port?: number } = {},
): Promise<RawReceiver> {
  const started = await startRawReceiver(answering, at);
  cleanUps.push(started.close);
  return started;
}

export function sender(limits: Partial<SendLimits> = {}, resolver?: SenderOptions['resolver']): Sender {
  const made = createSender({ guard, limits, ...(resolver && { resolver }) });
  cleanUps.push(made.close);
  return made;
}

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
