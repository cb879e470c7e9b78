import { newId } from '../../ids.js';
import type { AppMiddleware } from '../state.js';

/** `X-Request-Id` in, where it is 1 to 128 visible ASCII characters, else a new one; and out, on every answer. */
export function requestId(): AppMiddleware {
  return (ctx, next) => {
    const given = ctx.get('X-Request-Id');
    ctx.state.requestId = /^[\x21-\x7e]{1,128}$/.test(given) ? given : newId();
    ctx.set('X-Request-Id', ctx.state.requestId);
    return next();
  };
}
