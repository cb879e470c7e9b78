import { newId } from '../../ids.js';
import type { AppMiddleware } from '../state.js';

/**
 * Takes `X-Request-Id` from the request if it has 1 to 128 visible ASCII characters, else makes a new id; sets it on
 * every response.
 */
export function requestId(): AppMiddleware {
  return (ctx, next) => {
    const given = ctx.get('X-Request-Id');
    ctx.state.requestId = /^[\x21-\x7e]{1,128}$/.test(given) ? given : newId();
    ctx.set('X-Request-Id', ctx.state.requestId);
    return next();
  };
}
