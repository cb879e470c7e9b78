import type { Actor } from '../audit/actor.js';
import { recordAudit } from '../audit/record.js';
import { atomically, type Handle } from '../database/database.js';
import { isId } from '../id-form.js';
import { newId } from '../ids.js';
import { Networks } from '../networks.js';
import { Refusal } from '../refusal.js';
import type { Secret } from '../secret.js';
import { showClient } from './clients.js';
import {
  type ActingSession,
  type ConsoleGrant,
  type ConsoleRole,
  consoleScopes,
  secretIsValid,
} from './console-access.js';
import { startSession } from './console-sessions.js';
import { hashSecret, makeRandomSecret } from './random-secret.js';

/** Links that are neither used nor expired: those that a client made, and, counted apart, those that the operator made. */
export const MAX_OPEN_CODES = 20;

/** A sign-in link at the only time at which its code is readable. */
export interface SignInLink {
  url: string;
  expiresAt: Date;
}

/**
 * Makes a sign-in link: good once, for 5 minutes. The code is in the URL's fragment, which browsers do not send.
 * @throws Refusal insufficient_scope if no scope is left | console_link_limit_reached
 */
export function makeSignInLink(db: Handle, actor: Actor, baseUrl: string, grant: ConsoleGrant): Promise<SignInLink> {
  return atomically(db, async (tx) => {
    const { clientId, secretId, role } = grant;
    // Links of one client wait for each other, so that they do not exceed the limit together.
    await tx.query('select id from clients where id = $1::uuid for no key update', [clientId]);
    const scopes = consoleScopes(grant);
    const [open] = await tx.query<{ count: number; seconds: number }>(OPEN, [clientId, secretId]);
    if (open && open.count >= MAX_OPEN_CODES) throw tooMany(secretId ? 'The client' : 'The operator', open.seconds);
    const id = newId();
    const { secret: code, hash } = makeRandomSecret();
    const values = [id, hash.toString('hex'), clientId, secretId, role, JSON.stringify(scopes)];
    const [made] = await tx.query<{ expiresAt: string }>(INSERT, values);
    const expiresAt = new Date(Number(made?.expiresAt));
    const details = { link: id, role, expires_at: expiresAt.toISOString(), ...(secretId && { secret_id: secretId }) };
    await recordAudit(tx, { actor, action: 'console.link', target: clientId, details });
    return { url: `${baseUrl}/console/sign-in/${id}#${code.reveal()}`, expiresAt };
  });
}

/**
 * Makes a sign-in link for the operator: the session has the client's scopes, and no secret of the client ends it.
 * @throws Refusal not_found | invalid_request if the client is revoked | insufficient_scope | console_link_limit_reached
 */
export function makeOperatorLink(
  db: Handle,
  actor: Actor,
  baseUrl: string,
  clientId: string,
  role: ConsoleRole,
): Promise<SignInLink> {
  return atomically(db, async (tx) => {
    const { id, scopes, revokedAt } = await showClient(tx, clientId);
    if (revokedAt) throw new Refusal('invalid_request', 'The client is revoked.');
    return makeSignInLink(tx, actor, baseUrl, { clientId: id, secretId: null, role, scopes });
  });
}

/** What the page of a link shows before its code is used. */
export interface LinkInfo {
  clientId: string;
  clientName: string;
  role: ConsoleRole;
}

/** @param id of the link, from its path. @returns undefined if the link is unknown, used or expired */
export async function readLink(db: Handle, id: string): Promise<LinkInfo | undefined> {
  if (!isId(id)) return undefined;
  const [link] = await db.query<LinkInfo>(READ, [id]);
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
  {
    id,
    code,
    address,
    permit,
  }: { id: string; code: Secret; address: string; permit: (tx: Handle, signer: string) => Promise<void> },
): Promise<{ session: ActingSession; token: Secret } | undefined> {
  return atomically(db, async (tx) => {
    const [grant] = isId(id) ? await tx.query<Taken>(TAKE, [id, hashSecret(code).toString('hex')]) : [];
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

type Taken = ConsoleGrant & { clientScopes: string[]; networks: string[] };

function tooMany(maker: string, seconds: number): Refusal {
  const detail = `${maker} may have at most ${MAX_OPEN_CODES} sign-in links to a client's console that are neither used nor expired.`;
  return new Refusal('console_link_limit_reached', detail, [], { retryAfter: Math.max(1, seconds) });
}

const OPEN = `
select count(*)::int as count, coalesce(ceil(extract(epoch from min(expires_at) - now())), 0)::int as seconds
  from console_codes where client_id = $1::uuid and (secret_id is null) = ($2::uuid is null) and expires_at > now()
   and ${secretIsValid('console_codes')}`;

const INSERT = `
insert into console_codes (id, code_hash, client_id, secret_id, role, scopes, expires_at)
values ($1::uuid, decode($2, 'hex'), $3::uuid, $4::uuid, $5, array(select json_array_elements_text($6::json)),
        now() + interval '5 minutes')
returning floor(extract(epoch from expires_at) * 1000)::text as "expiresAt"`;

/** The condition that a code is good: not expired, and its client and secret are valid. */
const GOOD = `
  expires_at > now() and c.id = console_codes.client_id and c.revoked_at is null and ${secretIsValid('console_codes')}`;

const READ = `
select c.id::text as "clientId", c.name as "clientName", role from console_codes, clients c
 where console_codes.id = $1::uuid and ${GOOD}`;

const TAKE = `
delete from console_codes using clients c
 where console_codes.id = $1::uuid and code_hash = decode($2, 'hex') and ${GOOD}
returning client_id::text as "clientId", secret_id::text as "secretId", role, to_json(console_codes.scopes) as scopes,
          to_json(c.scopes) as "clientScopes", to_json(c.networks) as networks`;
