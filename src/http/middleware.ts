import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type Router from '@koa/router';
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { Authority } from '../auth/authority.js';
import type { Scope } from '../auth/caller.js';
import type { Config } from '../platform/config/config.js';
import { clientAddress, Networks } from '../platform/networks.js';
import { PROBLEMS, Refusal } from '../platform/refusal.js';
import type { Log } from '../platform/telemetry/log.js';
import type { Metrics } from '../platform/telemetry/metrics.js';
import { currentTraceId, inSpan } from '../platform/telemetry/traces.js';
import type { AppMiddleware } from './context.js';
import { problemResponse, REALM, refusalOf, send } from './response.js';

/**
 * The pattern of the matched route; undefined where none matched. Never the path or query as sent: they may hold any
 * text.
 */
export function routeOf(ctx: object): string | undefined {
  const { _matchedRoute: pattern } = ctx as { _matchedRoute?: unknown };
  return typeof pattern === 'string' ? pattern : undefined;
}

/**
 * Takes `X-Request-Id` from the request if it has 1 to 128 visible ASCII characters, else makes a new id; sets it on
 * every response.
 */
export const requestId: AppMiddleware = (ctx, next) => {
  ctx.state.requestId = requestIdOf(ctx.req);
  ctx.set('X-Request-Id', ctx.state.requestId);
  return next();
};

/** The id that the request has, if it is valid, else a new id. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\x21-\x7e]{1,128}$/.test(given) ? given : randomUUID();
}

/**
 * Sends who types a page of the console or of the documents with a final slash to the page. The address is relative,
 * because a proxy may serve the API under a path.
 */
export const withoutFinalSlash: AppMiddleware = (ctx, next) => {
  const [, name, slashes = ''] = /^\/(?=console\/|docs\/)(?:.*\/)?([^/]+)(\/+)$/.exec(ctx.path) ?? [];
  if (name === undefined || !['GET', 'HEAD'].includes(ctx.method)) return next();
  ctx.status = 303;
  ctx.set('Location', `${'../'.repeat(slashes.length)}${name}${ctx.search}`);
  return undefined;
};

/** Two years, as the preload list of browsers asks for (RFC 6797). Other names of the domain stay as they are. */
const STRICT_TRANSPORT = `max-age=${2 * 365 * 24 * 3_600}`;

/**
 * Headers of every response, unless a route overrides them: no caching, no sniffing of the media type, and, where the
 * API is reached by https, nothing but https (RFC 6797 §7.2: a browser ignores the header over http).
 * @param baseUrl the public URL of the API
 */
export function secureHeaders(baseUrl: string): AppMiddleware {
  const headers = {
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...(baseUrl.startsWith('https:') && { 'Strict-Transport-Security': STRICT_TRANSPORT }),
  };
  return (ctx, next) => {
    ctx.set(headers);
    return next();
  };
}

/**
 * Makes the server's span of a request, under the caller's span if the request has a `traceparent` (W3C Trace Context).
 * Whether it is kept, the sampler decides for itself.
 */
export const traceRequest: AppMiddleware = (ctx, next) => {
  const attributes = { 'http.request.method': ctx.method, request_id: ctx.state.requestId };
  const options = { kind: SpanKind.SERVER, attributes, traceparent: ctx.get('traceparent') || null };
  return inSpan(ctx.method, options, async (span) => {
    await next();
    const route = routeOf(ctx);
    if (route !== undefined) span.updateName(`${ctx.method} ${route}`).setAttribute('http.route', route);
    span.setAttribute('http.response.status_code', ctx.status);
    if (ctx.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
  });
};

type RequestMetrics = Pick<Metrics, 'requestStarted' | 'requestCompleted'>;

/** A request that never reaches the application, which gets it as the event `rejected` for its log and metrics. */
export interface RejectedRequest {
  requestId: string;
  status: number;
  /** Of the socket. */
  address: string | undefined;
  /** Undefined where the head could not be read. */
  request: IncomingMessage | undefined;
}

/** Logs one line for a request that the server rejects before the application sees it, and counts it. */
export function logRejected(log: Log, metrics: RequestMetrics, trustedProxies: Networks) {
  return ({ request, requestId, status, address }: RejectedRequest): void => {
    const method = request?.method ?? 'unreadable';
    metrics.requestStarted();
    metrics.requestCompleted({ method, route: undefined, status, durationMs: 0 });
    const forwardedFor = request?.headersDistinct['x-forwarded-for']?.join();
    const from = clientAddress(address, forwardedFor, trustedProxies);
    log.info({ request_id: requestId, method, route: null, status, duration_ms: 0, address: from }, 'request');
  };
}

/** Logs one line for each request and counts it. */
export function accessLog(log: Log, metrics: RequestMetrics): AppMiddleware {
  return async (ctx, next) => {
    const startedAt = performance.now();
    metrics.requestStarted();
    await next();
    const { method, status } = ctx;
    const route = routeOf(ctx);
    const client = ctx.state.caller ?? ctx.state.tokenClient;
    const durationMs = performance.now() - startedAt;
    metrics.requestCompleted({ method, route, status, durationMs });
    log.info(
      {
        request_id: ctx.state.requestId,
        trace_id: currentTraceId(),
        method,
        route: route ?? null,
        status,
        duration_ms: Math.round(durationMs * 10) / 10,
        address: ctx.state.address,
        client_id: client?.clientId,
        [client?.byKey ? 'key_id' : 'secret_id']: client?.secretId,
      },
      'request',
    );
  };
}

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
      send(ctx, problemResponse(refusal, where));
    }
  };
}

/**
 * Sets `ctx.state.address` to the client's address. `guardSocket` has already closed connections
 * from outside ALLOWED_NETWORKS; this middleware checks clients that connect through a trusted proxy.
 * @throws Refusal network_not_allowed
 */
export function networks(config: Pick<Config, 'allowedNetworks' | 'trustedProxies'>): AppMiddleware {
  const allowed = new Networks(config.allowedNetworks);
  const trustedProxies = new Networks(config.trustedProxies);
  return (ctx, next) => {
    ctx.state.address = clientAddress(ctx.req.socket.remoteAddress, ctx.get('X-Forwarded-For'), trustedProxies);
    if (!allowed.allows(ctx.state.address)) {
      throw new Refusal('network_not_allowed', 'The request comes from outside the allowed networks.');
    }
    return next();
  };
}

/** Refuses a path whose percent-encoding cannot be decoded (RFC 3986 §2.1). */
export const decodablePath: AppMiddleware = (ctx, next) => {
  try {
    decodeURIComponent(ctx.path);
  } catch {
    throw new Refusal('malformed_request', 'The path cannot be decoded.');
  }
  return next();
};

/**
 * Handles requests that no route matched: OPTIONS, another method (405 and `Allow`, RFC 9110 §15.5.6), unknown paths.
 */
export function unrouted(router: Router): AppMiddleware {
  return (ctx) => {
    const methods = new Set(router.match(ctx.path, ctx.method).path.flatMap((layer) => layer.methods));
    if (methods.size === 0) throw new Refusal('not_found', 'The API has no such path.');
    ctx.set('Allow', [...methods, 'OPTIONS'].sort().join(', '));
    if (ctx.method !== 'OPTIONS')
      throw new Refusal('method_not_allowed', 'This path does not support the method of the request.');
    ctx.status = 204;
  };
}

/**
 * Sets `ctx.state.caller` to the owner of the request's token. The token is read from `Authorization: Bearer` only (RFC
 * 6750 §2.1): a query or a body may be logged.
 * @throws Refusal unauthorized | invalid_token | network_not_allowed | unavailable
 */
export function authenticate(authority: Pick<Authority, 'authenticate'>): AppMiddleware {
  return async (ctx, next) => {
    // The token is a `token68` of RFC 9110 §11.2; the scheme is case-insensitive (§11.1).
    const token = /^bearer +([\w.~+/-]+=*)$/i.exec(ctx.get('Authorization'))?.[1];
    if (token === undefined) throw new Refusal('unauthorized', 'Send an access token: Authorization: Bearer …');
    ctx.state.caller = await authority.authenticate(token, ctx.state.address);
    return next();
  };
}

/** Admits callers whose token has one of `scopes`. @throws Refusal insufficient_scope (RFC 6750 §3.1) */
export function requireScope(scopes: readonly Scope[]): AppMiddleware {
  return (ctx, next) => {
    if (scopes.some((scope) => ctx.state.caller.scopes.has(scope))) return next();
    // RFC 6750 §3: the attribute lists what is needed, so one of the alternatives.
    ctx.set('WWW-Authenticate', `${REALM}, error="insufficient_scope", scope="${scopes[0]}"`);
    throw new Refusal('insufficient_scope', `This request requires the scope ${scopes.join(' or ')}.`);
  };
}
