import type { Handle } from '../database/database.js';
import { Networks } from '../networks.js';

/** The facts that decide whether a client and its tokens are accepted. */
export interface ClientRecord {
  id: string;
  revoked: boolean;
  scopes: readonly string[];
  networks: Networks;
  /** Newest first, including expired and revoked secrets. A secret that is made after the read is missing. */
  secrets: readonly SecretRecord[];
}

export interface SecretRecord {
  id: string;
  hash: Buffer;
  revoked: boolean;
  /** ms since 1970; null: never. */
  expiresAt: number | null;
}

interface Row {
  id: string;
  revoked: boolean;
  scopes: string[];
  networks: string[];
  secrets: { id: string; hash: string; revoked: boolean; expires_at: number | null }[];
}

const STATEMENT = `
  select c.id::text, c.revoked_at is not null as revoked, to_json(c.scopes) as scopes, to_json(c.networks) as networks,
    (select coalesce(json_agg(json_build_object(
       'id', s.id, 'hash', encode(s.hash, 'hex'), 'revoked', s.revoked_at is not null,
       'expires_at', floor(extract(epoch from s.expires_at) * 1000)
     ) order by s.created_at desc, s.id desc), '[]') from client_secrets s where s.client_id = c.id) as secrets
  from clients c where c.id = $1::uuid`;

/** Reads a client in one statement, also if the client does not exist. `clientId` must be a UUID. */
export async function readClientRecord(db: Handle, clientId: string): Promise<ClientRecord | undefined> {
  const [row] = await db.hot<Row>(STATEMENT, [clientId]);
  return (
    row && {
      id: row.id,
      revoked: row.revoked,
      scopes: row.scopes,
      networks: new Networks(row.networks),
      secrets: row.secrets.map((secret) => ({
        id: secret.id,
        hash: Buffer.from(secret.hash, 'hex'),
        revoked: secret.revoked,
        expiresAt: secret.expires_at,
      })),
    }
  );
}

/** Whether the secret, and each token issued for it, is valid at `now` (ms since 1970). */
export function isAlive(secret: SecretRecord, now: number): boolean {
  return !secret.revoked && (secret.expiresAt === null || secret.expiresAt > now);
}
