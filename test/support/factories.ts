import { randomBytes } from 'node:crypto';
import type { Handle } from '../../src/database/database.js';
import { MasterKeys } from '../../src/database/encryption.js';
import type { Endpoint, Transfer } from '../../src/database/generated/client.js';
import type { TransferStatus } from '../../src/database/generated/enums.js';
import { newId } from '../../src/ids.js';
import { Secret } from '../../src/secret.js';
import type { Sender, SendOutcome } from '../../src/webhooks/sender/send.js';

export const masterKeys = new MasterKeys(new Secret<Uint8Array>(randomBytes(32)));
/** Who does what an operator does in a test. */
export const OPERATOR = 'cli:tester@test';
export const ENDPOINT_SECRET = 'a secret of sixteen or more';

export async function makeClient(db: Handle): Promise<string> {
  const id = newId();
  await db.prisma.client.create({ data: { id, name: 'test', scopes: [], networks: [] } });
  return id;
}

export function makeEndpoint(
  db: Handle,
  clientId: string,
  data: { url?: string; enabled?: boolean } = {},
): Promise<Endpoint> {
  const id = newId();
  const { url = 'https://hooks.example.com/in', enabled = true } = data;
  const secretEnvelope = masterKeys.seal(new Secret(ENDPOINT_SECRET), id);
  return db.prisma.endpoint.create({ data: { id, clientId, url, enabled, secretEnvelope } });
}

export async function makeTransfer(
  db: Handle,
  clientId: string,
  status: TransferStatus = 'CREATED',
): Promise<Transfer> {
  const id = newId();
  return db.prisma.transfer.create({
    data: {
      id,
      clientId,
      amountValue: 1250n,
      amountCurrency: 'EUR',
      destinationName: 'Ada Lovelace',
      destinationAccount: 'DE02120300000000202051',
      status,
      history: { create: { position: 0, status: 'CREATED', at: new Date() } },
    },
  });
}

/** What a receiver would have answered. */
export function outcome(fields: Partial<SendOutcome> = {}): SendOutcome {
  const startedAt = new Date();
  const answer = { t: startedAt.toISOString(), startedAt, durationMs: 3, responseBody: null };
  return { ...answer, responseStatus: 204, error: null, ...fields };
}

export const refusedBy = (status: number) => outcome({ responseStatus: status, error: 'status' });

/** A sender that answers as `answer` says, and keeps what was sent. */
export function fakeSender(answer: (call: number) => SendOutcome | Promise<SendOutcome> = () => outcome()) {
  const sent: Parameters<Sender['send']>[0][] = [];
  return {
    sent,
    async send(outgoing: Parameters<Sender['send']>[0]) {
      sent.push(outgoing);
      return answer(sent.length);
    },
    async close() {},
  } satisfies Sender & { sent: unknown[] };
}
