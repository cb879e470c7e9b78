import { type Actor, recordAudit } from '../platform/audit.js';
import { atomically, type Handle } from '../platform/database/database.js';
import type { MasterKeys } from '../platform/database/encryption.js';
import { Refusal } from '../platform/refusal.js';
import type { Secret } from '../platform/secret.js';
import { refuseBadUrl } from './endpoints.js';
import { type EndpointUrlRules, hostOf } from './url.js';

/** What is undefined does not change. The URL null removes both. */
export interface NotifyChange {
  url?: string | null | undefined;
  secret?: Secret | null | undefined;
}

interface Stored {
  notifyUrl: string | null;
  notifySecretEnvelope: string | null;
}

/**
 * Sets where a client is told about its endpoints, and the secret that signs the messages: both or neither.
 * @throws Refusal invalid_request | url_not_canonical | blocked_address | not_found
 */
export function setClientNotify(
  db: Handle,
  rules: EndpointUrlRules,
  masterKeys: MasterKeys,
  { actor, clientId, url, secret }: NotifyChange & { actor: Actor; clientId: string },
): Promise<void> {
  return atomically(db, async (tx) => {
    if (url === undefined && secret === undefined) return;
    const [before] = await tx.query<Stored>(LOCK, [clientId]);
    if (!before) throw new Refusal('not_found', 'There is no such client.');
    if (url && url !== before.notifyUrl) refuseBadUrl(url, rules, 'notify_url');
    const kept = secret === undefined && url !== null ? before.notifySecretEnvelope : null;
    const notifySecretEnvelope = secret ? masterKeys.seal(secret, clientId) : kept;
    const notifyUrl = url === undefined ? before.notifyUrl : url;
    if (notifyUrl !== null && notifySecretEnvelope === null) throw missing('notify_secret', 'notify_url');
    if (notifyUrl === null && notifySecretEnvelope !== null) throw missing('notify_url', 'notify_secret');
    await tx.prisma.client.update({ where: { id: clientId }, data: { notifyUrl, notifySecretEnvelope } });
    const [from, to] = [before.notifyUrl, notifyUrl].map((one) => one && hostOf(one));
    const details = { from: from ?? null, to: to ?? null, new_secret: Boolean(secret) };
    await recordAudit(tx, { actor, action: 'clients.set-notify', target: clientId, details });
  });
}

const LOCK = `
select notify_url as "notifyUrl", notify_secret_envelope as "notifySecretEnvelope"
  from clients where id = $1::uuid for no key update`;

function missing(field: string, given: string): Refusal {
  const detail = `is required with ${given}: give both, or neither`;
  return new Refusal('invalid_request', `${field} ${detail}.`, [{ pointer: `/${field}`, code: 'required', detail }]);
}
