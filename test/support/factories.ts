import { randomBytes } from 'node:crypto';
import type { Sender, SendOutcome } from '../../src/delivery/sender/send.js';
import { keepDisabledPeriods } from '../../src/endpoints/disabled-periods.js';
import type { Handle } from '../../src/platform/database/database.js';
import { MasterKeys } from '../../src/platform/database/encryption.js';
import type { Endpoint, Transfer } from '../../src/platform/database/generated/client.js';
import type { TransferStatus } from '../../src/platform/database/generated/enums.js';
import { newId } from '../../src/platform/ids.js';
import { Secret } from '../../src/platform/secret.js';

const masterKey = randomBytes(32);
export const masterKeys = new MasterKeys(new Secret<Uint8Array>(masterKey));
/** The setting of a process that opens the secrets of the factories. */
export const MASTER_KEY = masterKey.toString('base64');
/** The actor of an operator's actions in tests. */
export const OPERATOR = 'cli:tester@test';
export const BY_OPERATOR = { actor: OPERATOR } as const;
export const ENDPOINT_SECRET = 'a secret of sixteen or more';

export async function makeClient(db: Handle): Promise<string> {
  const id = newId();
  await db.prisma.client.create({ data: { id, name: 'test', scopes: [], networks: [] } });
  return id;
}

export async function makeEndpoint(
  db: Handle,
  clientId: string,
  data: { url?: string; enabled?: boolean } = {},
): Promise<Endpoint> {
  const id = newId();
  const { url = 'https://hooks.example.com/in', enabled = true } = data;
  const secretEnvelope = masterKeys.seal(new Secret(ENDPOINT_SECRET), id);
  const endpoint = await db.prisma.endpoint.create({ data: { id, clientId, url, enabled, secretEnvelope } });
  if (!enabled) await keepDisabledPeriods(db, id, endpoint.createdAt);
  return endpoint;
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

/** The outcome of an attempt; 204 by default. */
export function outcome(fields: Partial<SendOutcome> = {}): SendOutcome {
  const startedAt = new Date();
  const common = { t: startedAt.toISOString(), startedAt, durationMs: 3, responseHeaders: null, responseBody: null };
  return { ...common, responseStatus: 204, error: null, detail: null, ...fields };
}

export const refusedBy = (status: number) => outcome({ responseStatus: status, error: 'status' });

/** A sender that returns the outcome of `respond` for each call, numbered from 1, and keeps the sent requests. */
export function fakeSender(respond: (call: number) => SendOutcome | Promise<SendOutcome> = () => outcome()) {
  const sent: Parameters<Sender['send']>[0][] = [];
  return {
    sent,
    async send(outgoing: Parameters<Sender['send']>[0]) {
      sent.push(outgoing);
      return respond(sent.length);
    },
    async close() {},
  } satisfies Sender & { sent: unknown[] };
}
