import { withDeadline } from '../../deadline.js';
import type { AppMiddleware } from '../state.js';

/**
 * Responds 503 after `limit` ms, whatever the request waits for. What it does then commits nothing. A client that sends
 * its body slowly gets 408 before (`server.ts`).
 */
export function deadline(limit: number): AppMiddleware {
  return (_ctx, next) => withDeadline(limit, next);
}
