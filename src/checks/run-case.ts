import { hasPassed, hintFor } from '../../clients/typescript/src/check/hints.js';
import { caseRequest, eventId } from '../../clients/typescript/src/check/requests.js';
import { standardHeaders } from '../../clients/typescript/src/standard.js';
import type { CaseResult } from '../../workflows/check-receiver.js';
import { deliveryHeaders } from '../delivery/sender/headers.js';
import type { Sender } from '../delivery/sender/send.js';
import { openHeaders } from '../endpoints/headers.js';
import type { Database } from '../platform/database/database.js';
import type { MasterKeys } from '../platform/database/encryption.js';
import { failpoint } from '../platform/failpoints.js';
import { Secret } from '../platform/secret.js';
import { CHECK_CASE_NAMES, type CheckCase } from '../platform/vocabulary.js';

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
  const { secretEnvelope, headersEnvelope, endpointId, clientId, url, signsStandard, validBody, validPassed } = check;
  if (secretEnvelope === null) return 'endpoint_not_active';
  const secret = masterKeys.open(secretEnvelope, endpointId);
  const { body, signature, signed } = caseRequest(name, { secret: secret.reveal(), validBody });
  const standard = signsStandard && signed ? standardHeaders({ ...signed, id: eventId(signed.body) }) : undefined;
  const own = openHeaders(masterKeys, endpointId, headersEnvelope);
  const outcome = await sender.send({ url, clientId, body, signature, standard, headers: own });
  failpoint('after-case-sent');
  const passed = hasPassed(name, outcome);
  const { responseStatus, error } = outcome;
  const response = [responseStatus, error, passed, hintFor(name, outcome, validPassed)];
  const position = CHECK_CASE_NAMES.indexOf(name) + 1;
  const masked = own.map(({ name }) => ({ name, value: MASK }));
  const headers = JSON.stringify(deliveryHeaders(signature, standard, masked));
  await database.query(RECORD, [checkId, position, name, ...response, headers, body]);
  return passed ? 'passed' : 'failed';
}

/** The report shows it in place of the value of an owner's header. */
const MASK = new Secret('***');

interface RunningCheck {
  clientId: string;
  endpointId: string;
  url: string;
  /** Null: the endpoint is disabled or deleted. */
  secretEnvelope: string | null;
  headersEnvelope: string | null;
  signsStandard: boolean;
  /** The recorded result of this case. */
  passed: boolean | null;
  validBody: string | null;
  validPassed: boolean | null;
}

const READ = `
select c.client_id as "clientId", c.endpoint_id as "endpointId", e.url,
       case when e.enabled and e.deleted_at is null then e.secret_envelope end as "secretEnvelope",
       e.headers_envelope as "headersEnvelope", 'standard' = any(e.signatures) as "signsStandard",
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
