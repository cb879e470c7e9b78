import { type Action, type Actor, type By, recordAudit } from '../platform/audit.js';
import { atomically, type Handle, rowOf } from '../platform/database/database.js';
import { isId, takeId } from '../platform/ids.js';
import { describeLimit, LIMITS } from '../platform/limits.js';
import { Networks } from '../platform/networks.js';
import { Refusal } from '../platform/refusal.js';
import type { Secret } from '../platform/secret.js';
import { CLIENT_SCOPES } from './caller.js';
import { hashSecret, makeRandomSecret, showClient } from './clients.js';

/** What a session of the console may do. A viewer changes nothing. */
export const CONSOLE_ROLES = ['viewer', 'editor'] as const;
export type ConsoleRole = (typeof CONSOLE_ROLES)[number];

/** How a session was signed in: with the client's credentials, or by a link of the client or of the operator. */
type SignInWay = 'credentials' | 'link' | 'operator-link';

/** The right to a session of the console: what a sign-in with credentials, or the maker of a link, passes on. */
export interface ConsoleGrant {
  clientId: string;
  /** The session ends with this secret or key; null: the operator gave the right. */
  secretId: string | null;
  role: ConsoleRole;
  scopes: readonly string[];
}

/**
 * The scopes of a session: `operator` alone where it has that, which opens the operator's page only; for a viewer only
 * scopes that end in `:read`.
 * @throws Refusal insufficient_scope if none is left
 */
function consoleScopes({ role, scopes }: Pick<ConsoleGrant, 'role' | 'scopes'>): string[] {
  const permitted = permittedScopes(role, scopes);
  if (permitted.length > 0) return permitted;
  const detail = 'The console needs a scope of a client, which ends in :read for a viewer; there is none.';
  throw new Refusal('insufficient_scope', detail);
}

function permittedScopes(role: ConsoleRole, scopes: readonly string[]): string[] {
  if (scopes.includes('operator')) return ['operator'];
  return CLIENT_SCOPES.filter((scope) => scopes.includes(scope) && (role === 'editor' || scope.endsWith(':read')));
}

/** The facts about a session that each of its audit entries contains. */
export interface ActingSession {
  id: string;
  clientId: string;
  role: ConsoleRole;
  /** The address of the request. */
  address: string;
  signedInBy: SignInWay;
}

/** A session, as an audit entry names it. */
export function bySession({ id, clientId, role, address, signedInBy }: ActingSession): By {
  return { actor: `console:${clientId}`, session: { session: id, role, address, signed_in_by: signedInBy } };
}

/**
 * The SQL condition that the secret or key behind a session or a code is valid. A null secret is the operator's.
 * @param row the alias of the row with `secret_id` and `client_id`
 */
const secretIsValid = (row: string) => `(${row}.secret_id is null or exists (
  select from client_secrets k join clients o on o.id = k.client_id
   where k.id = ${row}.secret_id and k.client_id = ${row}.client_id and k.revoked_at is null
     and (k.expires_at is null or k.expires_at > now()) and not o.require_private_key) or exists (
  select from client_keys k where k.id = ${row}.secret_id and k.client_id = ${row}.client_id))`;

/** Sessions of a client at one time. A further sign-in ends the session that was used least recently. */
const MAX_SESSIONS = 20;

/** A session that was found valid for a request. */
export interface ConsoleSession extends ActingSession {
  clientName: string;
  secretId: string | null;
  /** The scopes of the sign-in that the client still has. */
  scopes: ReadonlySet<string>;
  /** Requests a second; null: RATE_LIMIT. */
  rateLimit: number | null;
  /** Webhook endpoints at most; null: MAX_ENDPOINTS. */
  maxEndpoints: number | null;
  /** The message for the page of this request; null: none. */
  notice: string | null;
  /** When the session was read, by Postgres's clock, ms since 1970. */
  now: number;
}

/** Whether the session opens the operator's page, and nothing else. */
export const isOperator = ({ scopes }: Pick<ConsoleSession, 'scopes'>): boolean => scopes.has('operator');

/** The kind of request that uses a session. A page takes the notice; a live update does not extend the idle time. */
export type SessionUse = 'page' | 'form' | 'live';

type Row = Omit<ConsoleSession, 'scopes' | 'address' | 'now'> &
  Record<'scopes' | 'clientScopes' | 'networks', string[]> & { now: string };

/**
 * The session of a cookie, from Postgres at each request: any process serves any session, and a revoked client or
 * secret ends it at once. Its last use is written once a minute. A session that is used from outside of the client's
 * networks is ended.
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
  const { clientScopes, networks, now, ...found } = row;
  const scopes = new Set(row.scopes.filter((scope) => clientScopes.includes(scope)));
  const session: ConsoleSession = { ...found, scopes, address, now: Number(now) };
  if (new Networks(networks).allows(address)) return session;
  await end(db, session, session.id, 'console.end-session', session.id, { reason: 'network_not_allowed' });
  throw new Refusal('network_not_allowed', "The request comes from outside of the client's networks.");
}

/**
 * Makes a session and its cookie's value. Call it in the transaction of the check that permits it.
 * @throws Refusal insufficient_scope if no scope is left, as for an operator's client
 */
export async function startSession(
  tx: Handle,
  grant: ConsoleGrant,
  { signedInBy, address, link }: { signedInBy: SignInWay; address: string; link?: string },
): Promise<{ session: ActingSession; token: Secret }> {
  const { clientId, secretId, role } = grant;
  const scopes = consoleScopes(grant);
  // Sign-ins of one client wait for each other, so that they do not exceed the limit together.
  await tx.query('select id from clients where id = $1::uuid for no key update', [clientId]);
  const removed = await tx.query<{ id: string }>(MAKE_ROOM, [clientId, MAX_SESSIONS - 1, secretId]);
  const { id, at } = await takeId(tx);
  const session = { id, clientId, role, address, signedInBy };
  const { secret: token, hash: tokenHash } = makeRandomSecret();
  const times = { createdAt: at, lastSeenAt: at };
  await tx.prisma.consoleSession.create({ data: { ...session, tokenHash, secretId, scopes, ...times } });
  const by = bySession(session);
  await recordAudit(tx, { ...by, action: 'console.sign-in', target: clientId, details: link ? { link } : {} });
  const details = { reason: 'session_limit_reached' };
  for (const { id } of removed) await recordAudit(tx, { ...by, action: 'console.end-session', target: id, details });
  return { session, token };
}

/** Signs a session out. */
export async function signOut(db: Handle, session: ConsoleSession): Promise<void> {
  await end(db, session, session.id, 'console.sign-out', session.clientId);
}

/**
 * Ends a session of the client of `session`. A session that has already ended is no error.
 * @throws Refusal insufficient_scope if a viewer names another session than its own
 */
export async function endSession(db: Handle, session: ConsoleSession, id: string): Promise<void> {
  if (session.role === 'viewer' && id !== session.id) {
    throw new Refusal('insufficient_scope', 'A viewer may end only its own session.');
  }
  await end(db, session, id, 'console.end-session', id, { reason: 'by_hand' });
}

async function end(
  db: Handle,
  by: ConsoleSession,
  id: string,
  ...[action, target, details = {}]: [Action, string, Record<string, string>?]
) {
  await atomically(db, async (tx) => {
    const { count } = await tx.prisma.consoleSession.deleteMany({ where: { id, clientId: by.clientId } });
    if (count > 0) await recordAudit(tx, { ...bySession(by), action, target, details });
  });
}

/** A session as the sessions of the same client see it. */
export type ListedSession = Omit<ActingSession, 'clientId'> & Record<'createdAt' | 'lastSeenAt', Date>;

/**
 * The live sessions of a client and of the operator at it, the most recently used first; at most `MAX_SESSIONS` of
 * each.
 */
export function listSessions(db: Handle, clientId: string): Promise<ListedSession[]> {
  return db.query<ListedSession>(LIST, [clientId]);
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
 * The condition that a session has not expired (1 h idle, 8 h in all), on Postgres's clock, and
 * that its secret is valid.
 */
const LIVE = `s.last_seen_at > now() - interval '1 hour' and s.created_at > now() - interval '8 hours'
  and ${secretIsValid('s')}`;

const USE = `
with found as materialized (
  select s.*, c.name, c.scopes as client_scopes, c.networks, c.rate_limit, c.max_endpoints
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
       to_json(networks) as networks, rate_limit as "rateLimit", max_endpoints as "maxEndpoints",
       (extract(epoch from clock_timestamp()) * 1000)::bigint::text as now
  from found`;

const LIST = `
select id::text, role, signed_in_by as "signedInBy", address, created_at as "createdAt", last_seen_at as "lastSeenAt"
  from console_sessions s where client_id = $1::uuid and ${LIVE}
 order by last_seen_at desc, id desc limit ${2 * MAX_SESSIONS}`;

/**
 * Removes all but the $2 most recently used live sessions of a client, of the kind of the new session ($3, its secret):
 * the operator's sessions have none and count apart, so that a client's sign-ins never end one.
 */
const MAKE_ROOM = `
delete from console_sessions where id in (
  select s.id from console_sessions s
   where s.client_id = $1::uuid and (s.secret_id is null) = ($3::uuid is null) and ${LIVE}
   order by s.last_seen_at desc, s.id desc offset $2::int)
returning id::text`;

/** ms */
const LINK_LIFETIME = 300_000;

/**
 * Makes a sign-in link: good once, for 5 minutes. The code is in the URL's fragment, which browsers do not send.
 * @throws Refusal insufficient_scope if no scope is left | console_link_limit_reached
 */
export function makeSignInLink(db: Handle, actor: Actor, baseUrl: string, grant: ConsoleGrant) {
  return atomically(db, async (tx) => {
    const { clientId, secretId, role } = grant;
    // Links of one client wait for each other, so that they do not exceed the limit together.
    await tx.query('select id from clients where id = $1::uuid for no key update', [clientId]);
    const scopes = consoleScopes(grant);
    const { open } = await rowOf<{ open: number }>(tx, COUNT_OPEN_CODES, [clientId, secretId]);
    if (open >= LIMITS.signInLinks.amount) {
      const detail = `Limit: ${describeLimit(LIMITS.signInLinks)}. A link is open until it is used or expires.`;
      throw new Refusal('console_link_limit_reached', detail, [], { retryAfter: LINK_LIFETIME / 1_000 });
    }
    const { id, at } = await takeId(tx);
    const { secret: code, hash: codeHash } = makeRandomSecret();
    const expiresAt = new Date(at.getTime() + LINK_LIFETIME);
    await tx.prisma.consoleCode.create({ data: { id, codeHash, clientId, secretId, role, scopes, expiresAt } });
    const details = { link: id, role, expires_at: expiresAt.toISOString(), ...(secretId && { secret_id: secretId }) };
    await recordAudit(tx, { actor, action: 'console.link', target: clientId, details });
    return { url: `${baseUrl}/console/sign-in/${id}#${code.reveal()}`, expiresAt };
  });
}

/**
 * Makes a sign-in link for the operator: the session has the client's scopes, and no secret of the client ends it.
 * @throws Refusal not_found | invalid_request if the client is revoked | insufficient_scope |
 * console_link_limit_reached
 */
export function makeOperatorLink(db: Handle, actor: Actor, baseUrl: string, clientId: string, role: ConsoleRole) {
  return atomically(db, async (tx) => {
    const { id, scopes, revokedAt } = await showClient(tx, clientId);
    if (revokedAt) throw new Refusal('invalid_request', 'The client is revoked.');
    return makeSignInLink(tx, actor, baseUrl, { clientId: id, secretId: null, role, scopes });
  });
}

/**
 * What the page of a link shows before its code is used.
 * @param id of the link, from its path
 * @returns undefined if the link is unknown, used or expired
 */
export async function readLink(db: Handle, id: string) {
  if (!isId(id)) return undefined;
  const [link] = await db.query<{ clientId: string; clientName: string; role: ConsoleRole }>(READ_CODE, [id]);
  return link;
}

/**
 * Swaps the code of a link for a session. Of two requests with the same code, also in two processes, one gets the
 * session. After a refusal the code is still good.
 * @param permit throws where the client, or the operator for it, may not sign in now; it counts the sign-in in the
 * transaction
 * @returns undefined if the code is unknown, used or expired, or if its client or secret is no longer valid
 * @throws Refusal network_not_allowed | insufficient_scope
 */
export function swapCode(
  db: Handle,
  { id, code, address }: { id: string; code: Secret; address: string },
  permit: (tx: Handle, signer: string) => Promise<void>,
): Promise<{ session: ActingSession; token: Secret } | undefined> {
  return atomically(db, async (tx) => {
    const [grant] = isId(id) ? await tx.query<Taken>(TAKE_CODE, [id, hashSecret(code).toString('hex')]) : [];
    if (!grant) return undefined;
    if (!new Networks(grant.networks).allows(address)) {
      throw new Refusal('network_not_allowed', "The request comes from outside of the client's networks.");
    }
    // What a client signs in does not keep the operator out.
    await permit(tx, grant.secretId === null ? `operator for ${grant.clientId}` : grant.clientId);
    const scopes = grant.scopes.filter((scope) => grant.clientScopes.includes(scope));
    const signedInBy = grant.secretId === null ? 'operator-link' : 'link';
    return startSession(tx, { ...grant, scopes }, { signedInBy, address, link: id });
  });
}

type Taken = ConsoleGrant & Record<'clientScopes' | 'networks', string[]>;

const COUNT_OPEN_CODES = `
select count(*)::int as open from console_codes
 where client_id = $1::uuid and (secret_id is null) = ($2::uuid is null) and expires_at > now()
   and ${secretIsValid('console_codes')}`;

/** The condition that a code is good: not expired, and its client and secret are valid. */
const GOOD = `
  expires_at > now() and c.id = console_codes.client_id and c.revoked_at is null and ${secretIsValid('console_codes')}`;

const READ_CODE = `
select c.id::text as "clientId", c.name as "clientName", role from console_codes, clients c
 where console_codes.id = $1::uuid and ${GOOD}`;

const TAKE_CODE = `
delete from console_codes using clients c
 where console_codes.id = $1::uuid and code_hash = decode($2, 'hex') and ${GOOD}
returning client_id::text as "clientId", secret_id::text as "secretId", role, to_json(console_codes.scopes) as scopes,
          to_json(c.scopes) as "clientScopes", to_json(c.networks) as networks`;
