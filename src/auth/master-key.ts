import type { Actor } from '../audit/actor.js';
import { recordAudit } from '../audit/record.js';
import type { Handle } from '../database/database.js';
import { EnvelopeError, type MasterKeys } from '../database/encryption.js';

const BATCH = 200;
const LOWEST_ID = '00000000-0000-0000-0000-000000000000';

export interface MasterKeyRotation {
  /** Endpoint secrets sealed anew in this run. */
  endpoints: number;
  /** Signing keys sealed anew in this run. */
  signingKeys: number;
  /** Rows left as they are, since neither MASTER_KEY nor MASTER_KEY_PREVIOUS opens them: `webhook endpoint <id>`. */
  unreadable: string[];
}

/** A row that holds an envelope; its id is the associated data. */
interface SealedRow {
  id: string;
  envelope: string;
}

/** Puts another envelope in the place of the one that was read; false where the row has changed meanwhile. */
type Replace = (row: SealedRow, envelope: string) => Promise<boolean>;

/**
 * Seals every endpoint secret and signing key with MASTER_KEY that is still sealed with MASTER_KEY_PREVIOUS. Safe to run
 * again, twice at once, and beside registrations and deletions: a row is changed only where it still holds what was
 * read. MASTER_KEY_PREVIOUS can go once every process seals with MASTER_KEY and a run has found nothing left.
 * The audit has each run, since it commits row by row: before the first, so that one that was killed is there too.
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

/** In batches, by id: what is registered meanwhile has a higher one and is met at the end. */
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

/** By hand, for Prisma would set `updated_at`, which clients see. */
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
