import { atomically, type Handle } from '../database/database.js';
import { newId } from '../ids.js';
import { Networks } from '../networks.js';
import { Refusal } from '../refusal.js';
import type { Secret } from '../secret.js';
import {
  type ActingSession,
  type ConsoleGrant,
  consoleScopes,
  permittedScopes,
  recordBySession,
  type SignInWay,
  secretIsValid,
} from './console-access.js';
import { hashSecret, makeRandomSecret } from './random-secret.js';

/** Sessions of a client at one time. A further sign-in ends the session that was used least recently. */
export const MAX_SESSIONS = 20;

/** A session that was found valid for a request. */
export interface ConsoleSession extends ActingSession {
  clientName: string;
  secretId: string | null;
  /** The scopes of the sign-in that the client still has. */
  scopes: ReadonlySet<string>;
  /** The message for the page of this request; null: none. */
  notice: string | null;
}

/** The kind of request that uses a session. A page takes the notice; a live update does not extend the idle time. */
export type SessionUse = 'page' | 'form' | 'live';

interface Row extends Omit<ConsoleSession, 'scopes' | 'address'> {
  scopes: string[];
  clientScopes: string[];
  networks: string[];
}

/**
 * The session of a cookie, from Postgres at each request: any process serves any session, and a revoked client or
 * secret ends it at once. Its last use is written once a minute. A session that is used from outside of the client's networks is ended.
 * @returns undefined if there is no such session, or it has expired, or its client or secret is no longer valid
 * @throws Refusal network_not_allowed
 */
export async function useSession(
  db: Handle,
  token: Secret,
  { address, use }: { address: string; use: SessionUse },
): Promise<ConsoleSession | undefined> {
  const [row] = await db.query<Row>(USE, [hashSecret(token).toString('hex'), use !== 'live', use === 'page']);
  if (!row) return undefined;
  const { clientScopes, networks, ...found } = row;
  const present = permittedScopes(row.role, clientScopes);
  const scopes = new Set(row.scopes.filter((scope) => present.includes(scope)));
  const session: ConsoleSession = { ...found, scopes, address };
  if (new Networks(networks).allows(address)) return session;
  await end(db, session, session.id, 'network_not_allowed');
  throw new Refusal('network_not_allowed', "The request comes from outside of the client's networks.");
}

/**
 * Makes a session and its cookie's value. Call it in the transaction of the check that permits it.
 * @throws Refusal insufficient_scope if no scope is left, as for an operator's client
 */
export async function startSession(
  tx: Handle,
  grant: ConsoleGrant,
  by: { signedInBy: SignInWay; address: string; link?: string },
): Promise<{ session: ActingSession; token: Secret }> {
  const { clientId, secretId, role } = grant;
  const { signedInBy, address, link } = by;
  const scopes = consoleScopes(grant);
  // Sign-ins of one client wait for each other, so that they do not exceed the limit together.
  await tx.query('select id from clients where id = $1::uuid for no key update', [clientId]);
  const removed = await tx.query<{ id: string; live: boolean }>(MAKE_ROOM, [clientId, MAX_SESSIONS - 1, secretId]);
  const session = { id: newId(), clientId, role, address, signedInBy };
  const { secret: token, hash } = makeRandomSecret();
  await tx.query(INSERT, [
    session.id,
    hash.toString('hex'),
    clientId,
    secretId,
    role,
    JSON.stringify(scopes),
    signedInBy,
    address,
  ]);
  await recordBySession(tx, session, 'console.sign-in', clientId, link === undefined ? {} : { link });
  for (const { id, live } of removed) {
    if (live) await recordBySession(tx, session, 'console.end-session', id, { reason: 'session_limit_reached' });
  }
  return { session, token };
}

/** Signs a session out. */
export async function signOut(db: Handle, session: ConsoleSession): Promise<void> {
  await atomically(db, async (tx) => {
    const { id, clientId } = session;
    const { count } = await tx.prisma.consoleSession.deleteMany({ where: { id, clientId } });
    if (count > 0) await recordBySession(tx, session, 'console.sign-out', clientId);
  });
}

/**
 * Ends a session of the client of `session`. A session that has already ended is no error.
 * @throws Refusal insufficient_scope if a viewer names another session than its own
 */
export async function endSession(db: Handle, session: ConsoleSession, id: string): Promise<void> {
  if (session.role === 'viewer' && id !== session.id) {
    throw new Refusal('insufficient_scope', 'A viewer may end only its own session.');
  }
  await end(db, session, id, 'by_hand');
}

async function end(db: Handle, session: ConsoleSession, id: string, reason: string): Promise<void> {
  await atomically(db, async (tx) => {
    const { count } = await tx.prisma.consoleSession.deleteMany({ where: { id, clientId: session.clientId } });
    if (count > 0) await recordBySession(tx, session, 'console.end-session', id, { reason });
  });
}

/** A session as the sessions of the same client see it. */
export interface ListedSession extends Omit<ActingSession, 'clientId'> {
  createdAt: Date;
  lastSeenAt: Date;
}

/** The live sessions of a client and of the operator at it, the most recently used first; at most `MAX_SESSIONS` of each. */
export function listSessions(db: Handle, clientId: string): Promise<ListedSession[]> {
  return db
    .query<Omit<ListedSession, 'createdAt' | 'lastSeenAt'> & { created: string; seen: string }>(LIST, [clientId])
    .then((rows) =>
      rows.map(({ created, seen, ...session }) => ({
        ...session,
        createdAt: new Date(Number(created)),
        lastSeenAt: new Date(Number(seen)),
      })),
    );
}

/** Ends every session that a link of a client opened, and every such link. The operator's links stay. */
export async function endLinkedSessions(tx: Handle): Promise<void> {
  await tx.prisma.consoleSession.deleteMany({ where: { signedInBy: 'link' } });
  await tx.prisma.consoleCode.deleteMany({ where: { secretId: { not: null } } });
}

/** Sets the message that the session's next page shows once. */
export async function leaveNotice(db: Handle, session: ConsoleSession, notice: string): Promise<void> {
  await db.prisma.consoleSession.updateMany({ where: { id: session.id }, data: { notice } });
}

/**
 * The condition that a session has not expired (1 h idle, 8 h in all: contract, The console), on Postgres's clock, and
 * that its secret is valid.
 */
const LIVE = `s.last_seen_at > now() - interval '1 hour' and s.created_at > now() - interval '8 hours'
  and ${secretIsValid('s')}`;

const USE = `
with found as materialized (
  select s.*, c.name, c.scopes as client_scopes, c.networks
    from console_sessions s join clients c on c.id = s.client_id
   where s.token_hash = decode($1, 'hex') and ${LIVE} and c.revoked_at is null
), used as (
  update console_sessions s set last_seen_at = now(), notice = case when $3::boolean then null else s.notice end
    from found
   where s.id = found.id and $2::boolean
     and (s.last_seen_at < now() - interval '1 minute' or $3::boolean and s.notice is not null)
)
select id::text, client_id::text as "clientId", name as "clientName", secret_id::text as "secretId", role,
       to_json(scopes) as scopes, signed_in_by as "signedInBy", notice, to_json(client_scopes) as "clientScopes",
       to_json(networks) as networks
  from found`;

const milliseconds = (column: string) => `floor(extract(epoch from ${column}) * 1000)::text`;

const LIST = `
select id::text, role, signed_in_by as "signedInBy", address, ${milliseconds('created_at')} as created,
       ${milliseconds('last_seen_at')} as seen
  from console_sessions s where client_id = $1::uuid and ${LIVE}
 order by last_seen_at desc, id desc limit ${2 * MAX_SESSIONS}`;

/**
 * Removes the sessions of a client that are no longer live, and all but the $2 most recently used live ones of the kind
 * of the new session ($3, its secret): the operator's sessions have none and count apart, so that a client's sign-ins
 * never end one.
 */
const MAKE_ROOM = `
with gone as (
  select s.id, ${LIVE} as live, row_number() over (partition by ${LIVE}, (s.secret_id is null) = ($3::uuid is null)
                                                       order by s.last_seen_at desc, s.id desc) as place,
         (s.secret_id is null) = ($3::uuid is null) as alike
    from console_sessions s where s.client_id = $1::uuid
)
delete from console_sessions where id in (select id from gone where not live or alike and place > $2::int)
returning id::text, (select live from gone where gone.id = console_sessions.id) as live`;

const INSERT = `
insert into console_sessions (id, token_hash, client_id, secret_id, role, scopes, signed_in_by, address)
values ($1::uuid, decode($2, 'hex'), $3::uuid, $4::uuid, $5, array(select json_array_elements_text($6::json)), $7, $8)
returning id`;
