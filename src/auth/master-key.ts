import { type Actor, recordAudit } from '../platform/audit.js';
import type { Handle } from '../platform/database/database.js';
import { EnvelopeError, type MasterKeys } from '../platform/database/encryption.js';
import { NIL_ID } from '../platform/ids.js';
import type { Secret } from '../platform/secret.js';

const BATCH = 200;

/**
 * What is wrong if the newest signing key was sealed with another master key. Endpoints are registered with tokens, so
 * that a deployment with a secret has a signing key.
 */
export async function findMasterKeyFault(db: Handle, masterKeys: MasterKeys): Promise<string | false> {
  const key = await db.prisma.signingKey.findFirst({ orderBy: { createdAt: 'desc' } });
  const opened = key && openOrFault(masterKeys, { id: key.kid, envelope: key.privateKeyEnvelope });
  return opened instanceof EnvelopeError && `MASTER_KEY: a secret of this deployment ${opened.message}`;
}

interface Sealed {
  id: string;
  envelope: string;
}

function openOrFault(masterKeys: MasterKeys, { id, envelope }: Sealed): Secret | EnvelopeError {
  try {
    return masterKeys.open(envelope, id);
  } catch (error) {
    if (error instanceof EnvelopeError) return error;
    throw error;
  }
}

/** The associated data of an endpoint's headers: another than that of its secret. */
export const headersRowId = (endpointId: string) => `${endpointId} headers`;

/** The columns that hold envelopes; `rowId` gives their associated data. `first` is below every id. */
const ENDPOINTS = {
  ...{ table: 'webhook_endpoints', id: 'id', type: 'uuid', first: NIL_ID, envelope: 'secret_envelope' },
  rowId: (id: string) => id,
};
const HEADERS = { ...ENDPOINTS, envelope: 'headers_envelope', rowId: headersRowId };
const CLIENTS = { ...ENDPOINTS, table: 'clients', envelope: 'notify_secret_envelope' };
const SIGNING_KEYS = {
  ...{ table: 'signing_keys', id: 'kid', type: 'text', first: '', envelope: 'private_key_envelope' },
  rowId: ENDPOINTS.rowId,
};

/**
 * Seals with MASTER_KEY every secret of an endpoint, its headers, secret of a client's notifications and signing key
 * that is still sealed with MASTER_KEY_PREVIOUS. It is safe to run it again, to run it twice at the same time, and to
 * run it during registrations and deletions: a row is changed only if it still holds the envelope that was read.
 * MASTER_KEY_PREVIOUS may be removed when every process seals with MASTER_KEY and a run finds no row to seal. The
 * rotation commits row by row, so the audit entry is written before the first row: the audit also has a run that is
 * killed.
 * @returns how many envelopes of endpoints, clients and signing keys this run sealed again, and the rows of those that
 * neither MASTER_KEY nor MASTER_KEY_PREVIOUS opens, as `webhook_endpoints <id>`
 */
export async function rotateMasterKey(db: Handle, actor: Actor, masterKeys: MasterKeys) {
  await recordAudit(db, { actor, action: 'keys.rotate-master', target: null, details: { to: masterKeys.currentId } });
  const unreadable: string[] = [];
  const endpoints = await sealAgain(db, masterKeys, ENDPOINTS, unreadable);
  const headers = await sealAgain(db, masterKeys, HEADERS, unreadable);
  const clients = await sealAgain(db, masterKeys, CLIENTS, unreadable);
  const signingKeys = await sealAgain(db, masterKeys, SIGNING_KEYS, unreadable);
  return { endpoints: endpoints + headers, clients, signingKeys, unreadable };
}

/** Reads in batches ordered by id. An endpoint that is registered meanwhile has a higher id and is read last. */
async function sealAgain(db: Handle, masterKeys: MasterKeys, of: typeof ENDPOINTS, unreadable: string[]) {
  const { table, id, type, first, envelope, rowId } = of;
  const read = `select ${id}::text as id, ${envelope} as envelope from ${table}
    where ${id} > $1::${type} and ${envelope} is not null order by ${table}.${id} limit $2::int`;
  // A raw statement, since Prisma would set `updated_at`, which clients see.
  const replace = `update ${table} set ${envelope} = $3::text
    where ${id} = $1::${type} and ${envelope} = $2::text returning 1 as changed`;
  let sealed = 0;
  for (let last = first; ; ) {
    const rows = await db.query<Sealed>(read, [last, BATCH]);
    for (const row of rows) {
      last = row.id;
      if (masterKeys.isCurrent(row.envelope)) continue;
      const sealedFor = rowId(row.id);
      const secret = openOrFault(masterKeys, { id: sealedFor, envelope: row.envelope });
      if (secret instanceof EnvelopeError) unreadable.push(`${table} ${row.id}`);
      else sealed += (await db.query(replace, [row.id, row.envelope, masterKeys.seal(secret, sealedFor)])).length;
    }
    if (rows.length === 0) return sealed;
  }
}
