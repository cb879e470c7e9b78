import { standardHeaders } from '../standard.js';
import { TIME_IS_UP, withTimeLimit } from '../time-limit.js';
import { CHECK_CASE_NAMES, CHECK_CASES, type CheckCase } from './cases.js';
import { type CaseError, type CaseOutcome, hasPassed, hintFor } from './hints.js';
import { type CaseRequest, caseRequest, eventId } from './requests.js';

/** The verdict on one case, as a check by the service reports it. */
export interface CheckedCase {
  name: CheckCase;
  expected: '2xx' | 'refused';
  response_status: number | null;
  error: CaseError | null;
  passed: boolean;
  hint: string | null;
}

/** The service waits as long for a receiver, ms. */
const LIMIT = 15_000;

/**
 * Sends the nine cases to a receiver, one after the other, as the service's own check does. It follows no redirect.
 * @param signsStandard by Standard Webhooks too
 */
export async function checkReceiver(
  url: URL,
  secret: Uint8Array,
  signal: AbortSignal,
  signsStandard = false,
): Promise<{ status: 'passed' | 'failed'; cases: CheckedCase[] }> {
  const cases: CheckedCase[] = [];
  let validBody: string | null = null;
  for (const name of CHECK_CASE_NAMES) {
    const request = caseRequest(name, { secret, validBody });
    validBody ??= request.body;
    const outcome = await send(url, request, signal, signsStandard);
    const { responseStatus: response_status, error } = outcome;
    const hint = hintFor(name, outcome, cases[0]?.passed ?? null);
    const expected = CHECK_CASES[name];
    cases.push({ name, expected, response_status, error, passed: hasPassed(name, outcome), hint });
  }
  return { status: cases.every(({ passed }) => passed) ? 'passed' : 'failed', cases };
}

async function send(
  url: URL,
  { body, signature, signed }: CaseRequest,
  signal: AbortSignal,
  signsStandard: boolean,
): Promise<CaseOutcome> {
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Service-Webhooks/1.0',
    ...(signature !== null && { 'service-signature': signature }),
    ...(signsStandard && signed && standardHeaders({ ...signed, id: eventId(signed.body) })),
  };
  const made = { responseStatus: null, responseHeaders: null, detail: null };
  try {
    const response = await withTimeLimit(LIMIT, signal, (limited) =>
      fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal: limited }),
    );
    await response.body?.cancel();
    const { status, ok } = response;
    const contentType = response.headers.get('content-type');
    return {
      responseStatus: status,
      responseHeaders: contentType === null ? {} : { 'content-type': contentType },
      error: ok ? null : status >= 300 && status < 400 ? 'redirect' : 'status',
      detail: null,
    };
  } catch (error) {
    signal.throwIfAborted();
    return { ...made, error: error === TIME_IS_UP ? 'timeout' : errorOf(error) };
  }
}

/** By the codes of Node's errors; any other failure of a connection is a `reset`. */
function errorOf(error: unknown): CaseError {
  const { code = '', message = '' } = ((error as { cause?: unknown }).cause ?? {}) as {
    code?: string;
    message?: string;
  };
  if (['ENOTFOUND', 'EAI_AGAIN'].includes(code)) return 'dns';
  if (['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH'].includes(code)) return 'refused';
  if (['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT'].includes(code)) return 'timeout';
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO/.test(code)) return 'tls';
  return code.startsWith('HPE_') || /parse/i.test(message) ? 'protocol' : 'reset';
}
