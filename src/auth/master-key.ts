import type { Actor } from '../audit/actor.js';
import { recordAudit } from '../audit/record.js';
import type { Handle } from '../database/database.js';
import { EnvelopeError, type MasterKeys } from '../database/encryption.js';

const BATCH = 200;
const LOWEST_ID = '00000000-0000-0000-0000-000000000000';

export interface MasterKeyRotation {
  /** Endpoint secrets that this run sealed again. */
  endpoints: number;
  /** Signing keys that this run sealed again. */
  signingKeys: number;
  /** Unchanged rows that neither MASTER_KEY nor MASTER_KEY_PREVIOUS opens, as `webhook endpoint <id>`. */
  unreadable: string[];
}

/** A row that holds an envelope; its id is the associated data. */
interface SealedRow {
  id: string;
  envelope: string;
}

/** Replaces the envelope that was read; false if the row has changed since the read. */
type Replace = (row: SealedRow, envelope: string) => Promise<boolean>;

/**
 * Seals with MASTER_KEY every endpoint secret and signing key that is still sealed with MASTER_KEY_PREVIOUS. It is safe
 * to run it again, to run it twice at the same time, and to run it during registrations and deletions: a row is changed
 * only if it still holds the envelope that was read. MASTER_KEY_PREVIOUS may be removed when every process seals with
 * MASTER_KEY and a run finds no row to seal. The rotation commits row by row, so the audit entry is written before the
 * first row: the audit also has a run that is killed.
 */
export async function rotateMasterKey(db: Handle, actor: Actor, masterKeys: MasterKeys): Promise<MasterKeyRotation> {
  await recordAudit(db, { actor, action: 'keys.rotate-master', target: null, details: { to: masterKeys.currentId } });
  const endpoints = await sealAgain(masterKeys, endpointSecrets(db), replaceEndpointSecret(db));
  const signingKeys = await sealAgain(masterKeys, signingKeyRows(db), replaceSigningKey(db));
  return {
    endpoints: endpoints.sealed,
    signingKeys: signingKeys.sealed,
    unreadable: [
      ...endpoints.unreadable.map((id) => `webhook endpoint ${id}`),
      ...signingKeys.unreadable.map((kid) => `signing key ${kid}`),
    ],
  };
}

async function sealAgain(masterKeys: MasterKeys, rows: AsyncIterable<SealedRow>, replace: Replace) {
  const unreadable: string[] = [];
  let sealed = 0;
  for await (const row of rows) {
    if (masterKeys.isCurrent(row.envelope)) continue;
    const envelope = resealed(masterKeys, row);
    if (envelope === undefined) unreadable.push(row.id);
    else if (await replace(row, envelope)) sealed++;
  }
  return { sealed, unreadable };
}

function resealed(masterKeys: MasterKeys, row: SealedRow): string | undefined {
  try {
    return masterKeys.seal(masterKeys.open(row.envelope, row.id), row.id);
  } catch (error) {
    if (error instanceof EnvelopeError) return undefined;
    throw error;
  }
}

/** Reads in batches ordered by id. An endpoint that is registered meanwhile has a higher id and is read last. */
async function* endpointSecrets(db: Handle): AsyncGenerator<SealedRow> {
  let last = LOWEST_ID;
  for (;;) {
    const rows = await db.query<SealedRow>(
      `select id::text, secret_envelope as envelope from webhook_endpoints
       where id > $1::uuid and secret_envelope is not null order by webhook_endpoints.id limit $2::int`,
      [last, BATCH],
    );
    yield* rows;
    const end = rows.at(-1);
    if (!end) return;
    last = end.id;
  }
}

/** A raw statement, since Prisma would set `updated_at`, which clients see. */
function replaceEndpointSecret(db: Handle): Replace {
  return async (row, envelope) => {
    const changed = await db.query(
      `update webhook_endpoints set secret_envelope = $3::text
       where id = $1::uuid and secret_envelope = $2::text returning 1 as changed`,
      [row.id, row.envelope, envelope],
    );
    return changed.length > 0;
  };
}

async function* signingKeyRows(db: Handle): AsyncGenerator<SealedRow> {
  const rows = await db.prisma.signingKey.findMany({ select: { kid: true, privateKeyEnvelope: true } });
  yield* rows.map((row) => ({ id: row.kid, envelope: row.privateKeyEnvelope }));
}

function replaceSigningKey(db: Handle): Replace {
  return async (row, envelope) => {
    const { count } = await db.prisma.signingKey.updateMany({
      where: { kid: row.id, privateKeyEnvelope: row.envelope },
      data: { privateKeyEnvelope: envelope },
    });
    return count > 0;
  };
}
