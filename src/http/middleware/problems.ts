import { Refusal } from '../../refusal.js';
import type { Log } from '../../telemetry/log.js';
import { PROBLEMS, refusalOf } from '../problem.js';
import { problemResponse, send, writeResponse } from '../response.js';
import type { AppMiddleware } from '../state.js';

/**
 * Turns a thrown error into problem details (RFC 9457). Headers that were set before the throw stay. A fault is logged
 * with the request's id; its response contains no details of it.
 */
export function problems({ baseUrl, log }: { baseUrl: string; log: Log }): AppMiddleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      const refusal = refusalOf(error);
      if (!(error instanceof Refusal)) {
        const level = PROBLEMS[refusal.code].status === 503 ? 'warn' : 'error';
        log[level]({ err: error, request_id: ctx.state.requestId }, refusal.code);
      }
      const where = { baseUrl, path: ctx.path, requestId: ctx.state.requestId };
      send(ctx, writeResponse(problemResponse(refusal, where)));
    }
  };
}
