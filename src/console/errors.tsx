import type { VNode } from 'preact';
import { PROBLEMS, refusalOf } from '../http/problem.js';
import { problemResponse } from '../http/response.js';
import { Refusal } from '../refusal.js';
import type { Log } from '../telemetry/log.js';
import { PageError } from './page-error.js';

/** An error as a page shows it. */
export interface ShownError {
  status: number;
  title: string;
  detail: string;
  headers: Readonly<Record<string, string>>;
}

/** A fault's page contains no details of it. */
export function shownError(error: unknown): ShownError {
  if (error instanceof PageError) {
    return { status: error.status, title: error.title, detail: error.message, headers: {} };
  }
  const refusal = refusalOf(error);
  const { status, title } = PROBLEMS[refusal.code];
  const { headers = {} } = problemResponse(refusal, { baseUrl: '', path: '', requestId: '' });
  const { 'Content-Type': _type, 'WWW-Authenticate': _challenge, ...kept } = headers;
  return { status, title, detail: refusal.message, headers: kept };
}

interface Props {
  error: ShownError;
  requestId: string;
  /** The address of the page, where a repeat can help; undefined: it cannot. */
  again: string | undefined;
}

/** The content of an error's page. */
export function ErrorView({ error, requestId, again }: Props): VNode {
  return (
    <section class="error-page">
      <p class="error-status">{error.status}</p>
      <h1>{error.title}</h1>
      <p>{error.detail}</p>
      <p class="muted">
        Request <code>{requestId}</code>
      </p>
      {again !== undefined && (
        <p>
          <a class="button" href={again}>
            Try again
          </a>
        </p>
      )}
      <p>
        <a href="/console">Go to the console's first page</a>
      </p>
    </section>
  );
}

/** Logs a fault with the request's id, as the API does; a refusal is no fault. */
export function logFault(log: Log, error: unknown, requestId: string): void {
  if (error instanceof Refusal || error instanceof PageError) return;
  const { code } = refusalOf(error);
  log[PROBLEMS[code].status === 503 ? 'warn' : 'error']({ err: error, request_id: requestId }, code);
}
