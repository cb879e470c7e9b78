import type { IncomingMessage } from 'node:http';
import { newId } from '../../ids.js';
import type { AppMiddleware } from '../state.js';

/**
 * Takes `X-Request-Id` from the request if it has 1 to 128 visible ASCII characters, else makes a new id; sets it on
 * every response.
 */
export function requestId(): AppMiddleware {
  return (ctx, next) => {
    ctx.state.requestId = requestIdOf(ctx.req);
    ctx.set('X-Request-Id', ctx.state.requestId);
    return next();
  };
}

/** The id that the request has, if it is valid, else a new id. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\x21-\x7e]{1,128}$/.test(given) ? given : newId();
}
