import { timingSafeEqual } from 'node:crypto';
import { isId } from '../ids.js';
import type { Secret } from '../secret.js';
import type { ClientRecord, SecretRecord } from './client-record.js';
import { isAlive } from './client-record.js';
import { hashClientSecret, MAX_ACTIVE_SECRETS } from './client-secrets.js';

/** A client_id that nobody has (RFC 9562 §5.9): asked for in place of what is no UUID, so that both cost the same. */
const NOBODY = '00000000-0000-0000-0000-000000000000';
const NO_HASH = Buffer.alloc(32);

/**
 * The client and the secret it has shown; undefined where the client is unknown, malformed or revoked, or the secret is
 * none of its own. All of these do the same work: one read, one hash, one comparison for each place that a secret may
 * take, in constant time, with no early end.
 */
export async function checkCredentials(
  read: (clientId: string) => Promise<ClientRecord | undefined>,
  clientId: string,
  clientSecret: Secret,
  now: number,
): Promise<{ client: ClientRecord; secret: SecretRecord } | undefined> {
  const shown = hashClientSecret(clientSecret);
  const client = await read(isId(clientId) ? clientId : NOBODY);
  const secrets = client?.secrets.filter((secret) => isAlive(secret, now)) ?? [];
  let match: SecretRecord | undefined;
  for (let place = 0; place < MAX_ACTIVE_SECRETS; place++) {
    const secret = secrets[place];
    const equal = timingSafeEqual(shown, secret?.hash ?? NO_HASH);
    if (equal && secret) match = secret;
  }
  return client && match && !client.revoked ? { client, secret: match } : undefined;
}
