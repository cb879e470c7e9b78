import { timingSafeEqual } from 'node:crypto';
import { isId } from '../id-form.js';
import type { Secret } from '../secret.js';
import type { ClientRecord, SecretRecord } from './client-record.js';
import { isAlive } from './client-record.js';
import { MAX_ACTIVE_SECRETS } from './client-secrets.js';
import { hashSecret } from './random-secret.js';

/** The nil UUID (RFC 9562 §5.9), which no client has. A malformed client_id is looked up as this, at the same cost. */
const NO_CLIENT = '00000000-0000-0000-0000-000000000000';
const NO_HASH = Buffer.alloc(32);

/**
 * The client and its secret that matches `clientSecret`. Undefined if the client is unknown, malformed or revoked, or
 * if no active secret of the client matches. All these cases do the same work: one read, one hash, and a comparison in
 * constant time for each secret that a client may have, with no early exit.
 */
export async function checkCredentials(
  read: (clientId: string) => Promise<ClientRecord | undefined>,
  clientId: string,
  clientSecret: Secret,
  now: number,
): Promise<{ client: ClientRecord; secret: SecretRecord } | undefined> {
  const given = hashSecret(clientSecret);
  const client = await read(isId(clientId) ? clientId : NO_CLIENT);
  const secrets = client?.secrets.filter((secret) => isAlive(secret, now)) ?? [];
  let match: SecretRecord | undefined;
  for (let i = 0; i < MAX_ACTIVE_SECRETS; i++) {
    const secret = secrets[i];
    const equal = timingSafeEqual(given, secret?.hash ?? NO_HASH);
    if (equal && secret) match = secret;
  }
  return client && match && !client.revoked ? { client, secret: match } : undefined;
}
