import { z } from 'zod';
import type { CheckRecord } from '../../checks/checks.js';
import {
  ATTEMPT_ERRORS,
  CHECK_CASE_NAMES,
  CHECK_CASES,
  CHECK_STATUSES,
  type CheckCase,
} from '../../platform/vocabulary.js';
import { present, time, uuid, view } from './fields.js';

const checkRequest = view('ReceiverCheckRequest', { headers: z.record(z.string(), z.string()), body: z.string() });

const checkCase = view('ReceiverCheckCase', {
  name: z.enum(CHECK_CASE_NAMES).meta({ examples: ['wrong_secret'] }),
  expected: z
    .enum(['2xx', 'refused'])
    .meta({ description: '`refused`: any response that is not 2xx.', examples: ['refused'] }),
  response_status: z
    .nullable(z.int().min(100).max(999))
    .meta({ description: 'Null if there was no response.', examples: [204] }),
  error: z
    .nullable(z.enum(ATTEMPT_ERRORS))
    .meta({ description: 'As in an attempt of a delivery; null for a 2xx.', examples: [null] }),
  passed: z.boolean().meta({ examples: [false] }),
  hint: z.nullable(z.string()).meta({
    description:
      'What is wrong and what to change; null if nothing is. A case that passed may have a hint, such as about a malformed head.',
    examples: ['The receiver responded with 204. It accepts any signature: …'],
  }),
  request: z.nullable(checkRequest).meta({
    description:
      'The request as sent. Without the scope `webhooks:write`, signatures are masked; values of headers of its owner always are. Null if the check ended before this case.',
  }),
});

export const receiverCheckView = view('ReceiverCheck', {
  id: uuid,
  status: z.enum(CHECK_STATUSES).meta({ examples: ['failed'] }),
  started_at: time,
  finished_at: time.nullable().meta({ description: 'Null while the check runs.' }),
  cases: z
    .array(checkCase)
    .max(CHECK_CASE_NAMES.length)
    .meta({ description: 'In the order in which they are sent; while the check runs, the cases sent so far.' }),
});

/** @param showsSignature whether the reader may see the signatures */
export function presentCheck(check: CheckRecord, showsSignature: boolean) {
  const cases = check.cases.map(({ requestHeaders, requestBody, ...made }) =>
    present(checkCase, {
      ...made,
      expected: CHECK_CASES[made.name as CheckCase],
      request:
        requestHeaders === null || requestBody === null
          ? null
          : { headers: headersOf(requestHeaders, showsSignature), body: requestBody },
    }),
  );
  return present(receiverCheckView, { ...check, cases });
}

function headersOf(stored: unknown, showsSignature: boolean): Record<string, string> {
  const headers = stored as Record<string, string>;
  if (showsSignature) return headers;
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      name === 'webhook-signature' ? 'v1,***' : value.replace(/v0=[0-9a-f]*/, 'v0=***'),
    ]),
  );
}
