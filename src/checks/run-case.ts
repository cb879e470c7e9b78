import { randomBytes } from 'node:crypto';
import type { CaseResult } from '../../workflows/check-receiver.js';
import { eventBody } from '../delivery/event-catalogue.js';
import { deliveryHeaders, signatureHeader } from '../delivery/sender/headers.js';
import type { Sender } from '../delivery/sender/send.js';
import type { Database } from '../platform/database/database.js';
import type { MasterKeys } from '../platform/database/encryption.js';
import { failpoint } from '../platform/failpoints.js';
import { newId } from '../platform/ids.js';
import { Secret } from '../platform/secret.js';
import { CHECK_CASE_NAMES, type CheckCase } from '../platform/vocabulary.js';
import { hasPassed, hintFor } from './hints.js';

export interface CaseDependencies {
  database: Database;
  masterKeys: MasterKeys;
  sender: Sender;
}

/**
 * Sends one case and records it, once. A case that was sent before a crash, but not recorded, is sent again. The
 * receiver's response changes nothing of its endpoint.
 * @throws only for faults of this service
 */
export async function runCase(
  { database, masterKeys, sender }: CaseDependencies,
  { checkId, name }: { checkId: string; name: CheckCase },
): Promise<CaseResult> {
  const [check] = await database.query<RunningCheck>(READ, [checkId, name]);
  if (!check) return 'ended';
  if (check.passed !== null) return check.passed ? 'passed' : 'failed';
  const { secretEnvelope, endpointId, clientId, url, validBody, validPassed } = check;
  if (secretEnvelope === null) return 'endpoint_not_active';
  const secret = masterKeys.open(secretEnvelope, endpointId);
  const { body, signature } = caseRequest(name, { secret, validBody });
  const outcome = await sender.send({ url, clientId, body, signature });
  failpoint('after-case-sent');
  const passed = hasPassed(name, outcome);
  const { responseStatus, error } = outcome;
  const response = [responseStatus, error, passed, hintFor(name, outcome, validPassed)];
  const position = CHECK_CASE_NAMES.indexOf(name) + 1;
  const headers = JSON.stringify(deliveryHeaders(signature));
  await database.query(RECORD, [checkId, position, name, ...response, headers, body]);
  return passed ? 'passed' : 'failed';
}

interface RunningCheck {
  clientId: string;
  endpointId: string;
  url: string;
  /** Null: the endpoint is disabled or deleted. */
  secretEnvelope: string | null;
  /** The recorded result of this case. */
  passed: boolean | null;
  validBody: string | null;
  validPassed: boolean | null;
}

const READ = `
select c.client_id as "clientId", c.endpoint_id as "endpointId", e.url,
       case when e.enabled and e.deleted_at is null then e.secret_envelope end as "secretEnvelope",
       own.passed, valid.request_body as "validBody", valid.passed as "validPassed"
  from receiver_checks c
  join webhook_endpoints e on e.id = c.endpoint_id
  left join receiver_check_cases own on own.check_id = c.id and own.name = $2
  left join receiver_check_cases valid on valid.check_id = c.id and valid.name = 'valid'
 where c.id = $1::uuid and c.finished_at is null`;

/** A check that was ended meanwhile keeps its report. */
const RECORD = `
insert into receiver_check_cases
       (check_id, position, name, response_status, error, passed, hint, request_headers, request_body)
select id, $2::int, $3, $4::int, $5, $6::boolean, $7, $8::jsonb, $9
  from receiver_checks where id = $1::uuid and finished_at is null
on conflict do nothing`;

/** The request of one case, ready to be sent. */
export interface CaseRequest {
  body: string;
  /** The value of `Service-Signature`; null: no such header. */
  signature: string | null;
}

/**
 * The age of the signed time in the case `stale_timestamp`, ms. A receiver refuses more than five minutes (spec §5).
 */
const STALE = 6 * 60_000;
/** How much older the event of the case `out_of_order` is than that of `valid`, ms. */
const OLDER = 60_000;

/**
 * Makes the request of a case. Each call makes a new event, but `duplicate` repeats the event of `valid`, and
 * `out_of_order` tells an earlier status of the same transfer.
 * @param secret of the endpoint
 * @param validBody the body that the case `valid` sent; null: that case is still to be sent
 */
export function caseRequest(
  name: CheckCase,
  { secret, validBody }: { secret: Secret; validBody: string | null },
  now = Date.now(),
): CaseRequest {
  const signedAt = (at: number, body: string, key: Secret | Secret<Uint8Array> = secret): CaseRequest => {
    return { body, signature: signatureHeader({ secret: key, t: new Date(at).toISOString(), body }) };
  };
  const signed = (body: string) => signedAt(now, body);
  const body = event(now);
  const requests: Record<CheckCase, () => CaseRequest> = {
    valid: () => signed(body),
    duplicate: () => signed(validBody ?? body),
    out_of_order: () => signed(olderThan(validBody ?? body)),
    unknown_type: () => signed(JSON.stringify({ ...JSON.parse(body), type: 'receiver_check.unknown_type' })),
    unknown_field: () => signed(withUnknownField(body)),
    stale_timestamp: () => signedAt(now - STALE, event(now - STALE)),
    wrong_secret: () => signedAt(now, body, new Secret(randomBytes(32))),
    changed_body: () => ({ ...signed(body), body: changeOneByte(body) }),
    missing_signature: () => ({ body, signature: null }),
  };
  return requests[name]();
}

/** An event of a transfer that does not exist. */
function event(at: number, id = newId(), status: 'PROCESSING' | 'SENT' = 'SENT'): string {
  return eventBody({ id: newId(at), type: 'transfer.status_changed', data: { id, status }, createdAt: at });
}

function olderThan(body: string): string {
  const { data, created_at } = JSON.parse(body) as { data: { id: string }; created_at: string };
  return event(Date.parse(`${created_at}Z`) - OLDER, data.id, 'PROCESSING');
}

/**
 * Adds a field that no JSON writer repeats byte for byte: a number with a fraction of zero, an escaped letter, a slash
 * and a `<`. A receiver that verifies reserialised JSON gives itself away here, in any language.
 */
function withUnknownField(body: string): string {
  return `${body.slice(0, -1)},"unknown_field":{"number":1.0,"text":"caf\\u00e9 / <"}}`;
}

/** Changes the last digit of the transfer's id, so that the body stays valid JSON of the same length. */
function changeOneByte(body: string): string {
  const { id } = (JSON.parse(body) as { data: { id: string } }).data;
  return body.replace(id, id.slice(0, -1) + (id.endsWith('0') ? '1' : '0'));
}
