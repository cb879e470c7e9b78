import { isDeepStrictEqual } from 'node:util';
import { type Actor, type By, recordAudit } from '../platform/audit.js';
import { atomically, type Handle, lockInTransaction, readClock } from '../platform/database/database.js';
import type { MasterKeys } from '../platform/database/encryption.js';
import type { Endpoint } from '../platform/database/generated/client.js';
import { takeId } from '../platform/ids.js';
import { Refusal } from '../platform/refusal.js';
import type { Secret } from '../platform/secret.js';
import { cancelPending, disableEndpoint } from './disable.js';
import { keepDisabledPeriods } from './disabled-periods.js';
import {
  type EndpointHeader,
  headerColumns,
  isSame,
  openHeaders,
  refuseReservedHeaders,
  type WantedHeader,
  withStoredValues,
} from './headers.js';
import { refuseWhileCancelling } from './refusals.js';
import { type EndpointUrlRules, findUrlError, hostOf } from './url.js';

/** An environment's rules for endpoints. */
export interface EndpointRules extends EndpointUrlRules {
  /** Endpoints a client may have. */
  maxEndpoints: number;
}

/** An endpoint without its secrets. No function here returns one. */
export type PublicEndpoint = Omit<Endpoint, 'secretEnvelope' | 'headersEnvelope'>;

/** Other forms in which an attempt is signed. */
export type Signatures = 'standard'[];

const WITHOUT_SECRET = { secretEnvelope: true, headersEnvelope: true } as const;

interface NewEndpoint extends Pick<Endpoint, 'clientId' | 'url' | 'description' | 'maxConcurrency' | 'enabled'> {
  maxPerSecond?: number | null;
  /** Beside `Service-Signature`. */
  signatures?: Signatures;
  headers?: readonly EndpointHeader[];
  by: By;
  /** The HMAC key is the bytes of the secret. */
  secret: Secret;
}

/**
 * Registers an endpoint; the same URL may be registered again, to switch its secret.
 * @throws Refusal invalid_request | url_not_canonical | blocked_address | header_not_allowed | endpoint_limit_reached
 */
export async function registerEndpoint(
  db: Handle,
  rules: EndpointRules,
  masterKeys: MasterKeys,
  { by, secret, headers = [], ...fields }: NewEndpoint,
): Promise<PublicEndpoint> {
  const { clientId, url, enabled } = fields;
  refuseBadUrl(url, rules);
  refuseReservedHeaders(headers);
  return atomically(db, async (tx) => {
    // A client's registrations run one at a time, so that two concurrent ones cannot exceed the limit.
    await lockInTransaction(tx, `endpoints of ${clientId}`);
    await refuseBeyondLimit(tx, rules.maxEndpoints, clientId, url);
    const { id, at: now } = await takeId(tx);
    const endpoint = await tx.prisma.endpoint.create({
      data: {
        ...fields,
        id,
        secretEnvelope: masterKeys.seal(secret, id),
        ...headerColumns(masterKeys, id, headers),
        disabledReason: enabled ? null : 'owner',
        enabledAt: now,
        createdAt: now,
        updatedAt: now,
        periodsKnownSince: now,
      },
      omit: WITHOUT_SECRET,
    });
    if (!enabled) await keepDisabledPeriods(tx, id, now);
    const details = { client_id: clientId, host: hostOf(url), enabled };
    await recordAudit(tx, { ...by, action: 'endpoints.create', target: id, details });
    return endpoint;
  });
}

/**
 * A client at its limit may register one more endpoint at the URL of an enabled one, so that it can switch to a new
 * secret without an interruption.
 */
async function refuseBeyondLimit(tx: Handle, usual: number, clientId: string, url: string): Promise<void> {
  const client = await tx.prisma.client.findUnique({ where: { id: clientId }, select: { maxEndpoints: true } });
  const limit = client?.maxEndpoints ?? usual;
  const active = { clientId, deletedAt: null };
  const count = await tx.prisma.endpoint.count({ where: active });
  if (count < limit) return;
  if (count === limit && (await tx.prisma.endpoint.findFirst({ where: { ...active, enabled: true, url } }))) return;
  throw new Refusal(
    'endpoint_limit_reached',
    `Limit: ${limit} webhook endpoints per client (one more while it switches the secret of an enabled one).`,
  );
}

/** Lists the endpoints of a client, or of all clients for the operator, with an id below `before`, newest first. */
export function listEndpoints(
  db: Handle,
  clientId: string | undefined,
  page: { before: string | undefined; take: number },
): Promise<PublicEndpoint[]> {
  return db.prisma.endpoint.findMany({
    where: { ...(clientId && { clientId }), deletedAt: null, ...(page.before && { id: { lt: page.before } }) },
    orderBy: { id: 'desc' },
    take: page.take,
    omit: WITHOUT_SECRET,
  });
}

/** Adds to each row the endpoint that it names, also after its deletion: the row of an endpoint stays. */
export async function withEndpoints<Row extends { endpointId: string }>(
  db: Handle,
  rows: readonly Row[],
): Promise<(Row & { endpoint: PublicEndpoint })[]> {
  const where = { id: { in: [...new Set(rows.map(({ endpointId }) => endpointId))] } };
  const endpoints = await db.prisma.endpoint.findMany({ where, omit: WITHOUT_SECRET });
  const byId = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]));
  return rows.map((row) => ({ ...row, endpoint: byId.get(row.endpointId) as PublicEndpoint }));
}

/**
 * @param clientId the client that must own the endpoint; null: any client (the operator)
 * @throws Refusal not_found
 */
export async function getEndpoint(db: Handle, clientId: string | null, id: string): Promise<PublicEndpoint> {
  const where = { id, deletedAt: null, ...(clientId !== null && { clientId }) };
  const endpoint = await db.prisma.endpoint.findFirst({ where, omit: WITHOUT_SECRET });
  if (!endpoint) throw new Refusal('not_found', 'There is no such webhook endpoint.');
  return endpoint;
}

/** What is undefined does not change. */
interface EndpointUpdate {
  by: By;
  clientId: string;
  id: string;
  url?: string | undefined;
  description?: string | null | undefined;
  /** Null: the limit of the deployment. */
  maxConcurrency?: number | null | undefined;
  /** Attempts started in a second; null: no limit. */
  maxPerSecond?: number | null | undefined;
  signatures?: Signatures | undefined;
  headers?: readonly WantedHeader[] | undefined;
  enabled?: boolean | undefined;
}

/**
 * Changes an endpoint. Disabling cancels pending deliveries; enabling restarts the count towards `failing`.
 * @throws Refusal invalid_request | url_not_canonical | blocked_address | header_not_allowed | not_found |
 * disabled_by_operator | cancellation_in_progress
 */
export function updateEndpoint(
  db: Handle,
  rules: EndpointRules,
  masterKeys: MasterKeys,
  update: EndpointUpdate,
): Promise<PublicEndpoint> {
  const { by, clientId, id, url, description, maxConcurrency, maxPerSecond, signatures, headers, enabled } = update;
  return atomically(db, async (tx) => {
    const before = await lockEndpoint(tx, clientId, id);
    // A URL that was registered under older rules does not keep its owner from changing the rest.
    if (url !== undefined && url !== before.url) refuseBadUrl(url, rules);
    const newHeaders = headers && (await changedHeaders(tx, masterKeys, id, headers));
    const after = await tx.prisma.endpoint.update({
      where: { id },
      data: {
        ...(url !== undefined && { url }),
        ...(description !== undefined && { description }),
        ...(maxConcurrency !== undefined && { maxConcurrency }),
        ...(maxPerSecond !== undefined && { maxPerSecond }),
        ...(signatures !== undefined && { signatures }),
        ...newHeaders,
        updatedAt: new Date(await readClock(tx)),
      },
      omit: WITHOUT_SECRET,
    });
    const changed: string[] = UPDATABLE.filter(([column]) => !isDeepStrictEqual(before[column], after[column])).map(
      ([, field]) => field,
    );
    if (newHeaders) changed.push('headers');
    const details = { client_id: clientId, changed, host: hostOf(after.url) };
    if (changed.length > 0) await recordAudit(tx, { ...by, action: 'endpoints.update', target: id, details });
    return enabled === undefined ? after : setEnabled(tx, by, 'owner', after, enabled);
  });
}

/** The columns of other headers; undefined: they are the same. The endpoint is locked. */
async function changedHeaders(tx: Handle, masterKeys: MasterKeys, id: string, wanted: readonly WantedHeader[]) {
  refuseReservedHeaders(wanted);
  const { headersEnvelope } = await tx.prisma.endpoint.findUniqueOrThrow({
    where: { id },
    select: { headersEnvelope: true },
  });
  const stored = openHeaders(masterKeys, id, headersEnvelope);
  const headers = withStoredValues(wanted, stored);
  return isSame(headers, stored) ? undefined : headerColumns(masterKeys, id, headers);
}

/**
 * Enables or disables an endpoint. The operator's disabling replaces any earlier reason, and only the operator can undo
 * it. A repeated call changes nothing.
 * @throws Refusal disabled_by_operator | cancellation_in_progress
 */
async function setEnabled(
  tx: Handle,
  by: By,
  who: 'owner' | 'operator',
  before: PublicEndpoint,
  enabled: boolean,
): Promise<PublicEndpoint> {
  const { id, clientId, disabledReason } = before;
  if (before.enabled === enabled && (enabled || who === 'owner' || disabledReason === who)) return before;
  if (enabled && who === 'owner' && disabledReason === 'operator') {
    throw new Refusal(
      'disabled_by_operator',
      'The operator disabled this endpoint, and only the operator can enable it.',
    );
  }
  if (enabled) refuseWhileCancelling(before);
  else await disableEndpoint(tx, id, who);
  const now = new Date(await readClock(tx));
  const data = enabled ? enabledAt(now) : { disabledReason: who, updatedAt: now };
  const after = await tx.prisma.endpoint.update({ where: { id }, data, omit: WITHOUT_SECRET });
  await keepDisabledPeriods(tx, id);
  const action = enabled ? 'endpoints.enable' : 'endpoints.disable';
  const details = { client_id: clientId, was: disabledReason ?? 'enabled' };
  await recordAudit(tx, { ...by, action, target: id, details });
  return after;
}

/**
 * The columns that an update replaces, with the API's names. The entry has no value but the host: a url may hold a
 * token.
 */
const UPDATABLE = [
  ['url', 'url'],
  ['description', 'description'],
  ['maxConcurrency', 'max_concurrency'],
  ['maxPerSecond', 'max_per_second'],
  ['signatures', 'signatures'],
] as const;

/** Deletes an endpoint, erases its secrets and cancels its pending deliveries. @throws Refusal not_found */
export function deleteEndpoint(db: Handle, by: By, clientId: string, id: string): Promise<void> {
  return atomically(db, async (tx) => {
    await lockEndpoint(tx, clientId, id);
    await tx.query(DELETE, [id]);
    await keepDisabledPeriods(tx, id);
    await cancelPending(tx, id);
    await recordAudit(tx, { ...by, action: 'endpoints.delete', target: id, details: { client_id: clientId } });
  });
}

const DELETE = `
update webhook_endpoints
   set deleted_at = clock_timestamp(), updated_at = clock_timestamp(), secret_envelope = null, headers_envelope = null
 where id = $1::uuid`;

/** Enables or disables an endpoint as the operator. @throws Refusal not_found | cancellation_in_progress */
export function setEndpointEnabledByOperator(db: Handle, actor: Actor, id: string, enabled: boolean) {
  return atomically(db, async (tx) => setEnabled(tx, { actor }, 'operator', await lockEndpoint(tx, null, id), enabled));
}

/** The limits of an endpoint that the operator sets, with their audit actions. */
const OPERATORS_LIMITS = { maxConcurrency: 'endpoints.set-concurrency', maxPerSecond: 'endpoints.set-rate' } as const;

/**
 * Sets one limit of an endpoint as the operator. A repeated call changes nothing.
 * @param limit null: the deployment's, which has none of attempts in a second
 * @throws Refusal not_found
 */
export function setEndpointLimitByOperator(
  db: Handle,
  actor: Actor,
  id: string,
  name: keyof typeof OPERATORS_LIMITS,
  limit: number | null,
): Promise<PublicEndpoint> {
  return atomically(db, async (tx) => {
    const before = await lockEndpoint(tx, null, id);
    if (before[name] === limit) return before;
    const details = { client_id: before.clientId, was: before[name] ?? 'default', limit: limit ?? 'default' };
    await recordAudit(tx, { actor, action: OPERATORS_LIMITS[name], target: id, details });
    return tx.prisma.endpoint.update({
      where: { id },
      data: { [name]: limit, updatedAt: new Date(await readClock(tx)) },
      omit: WITHOUT_SECRET,
    });
  });
}

/** The columns that enabling an endpoint sets. @param at by Postgres's clock */
export const enabledAt = (at: Date) => ({ enabled: true, disabledReason: null, enabledAt: at, updatedAt: at });

/**
 * Locks an endpoint's row, and reads it: changes of the endpoint wait for it, inserts of its deliveries do not.
 * @throws Refusal not_found
 */
export async function lockEndpoint(tx: Handle, clientId: string | null, id: string): Promise<PublicEndpoint> {
  await tx.query(
    `select from webhook_endpoints
      where id = $1::uuid and ($2::uuid is null or client_id = $2::uuid) and deleted_at is null for no key update`,
    [id, clientId],
  );
  return getEndpoint(tx, clientId, id);
}

/** Validation errors of a URL that are error codes of the API too. */
const OWN_CODES = ['blocked_address', 'url_not_canonical'] as const;

/** @throws Refusal invalid_request | url_not_canonical | blocked_address */
export function refuseBadUrl(url: string, rules: EndpointUrlRules, field = 'url'): void {
  const found = findUrlError(url, rules);
  if (!found) return;
  const validationError = { ...found, pointer: `/${field}` };
  const own = OWN_CODES.find((code) => code === validationError.code);
  // The canonical form ends the sentence: a full stop would look like a part of it.
  const end = own === 'url_not_canonical' ? '' : '.';
  throw new Refusal(own ?? 'invalid_request', `The ${field} ${validationError.detail}${end}`, [validationError]);
}
