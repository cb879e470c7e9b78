import { z } from 'zod';
import { byOf } from '../../auth/caller.js';
import { createAddressGuard } from '../../delivery/sender/address-guard.js';
import {
  deleteEndpoint,
  type EndpointRules,
  getEndpoint,
  listEndpoints,
  lockEndpoint,
  registerEndpoint,
  updateEndpoint,
} from '../../endpoints/endpoints.js';
import { getEndpointHealth } from '../../endpoints/health.js';
import { describeLimit, LIMITS, MAX_WINDOW_DAYS } from '../../platform/limits.js';
import { Secret } from '../../platform/secret.js';
import { readStatement } from '../../reports/statement.js';
import type { AppDependencies } from '../context.js';
import { etagOf } from '../etag.js';
import { idCursor, pageOf, pageView, paging, respondWithPage } from '../paging.js';
import { created, tagged } from '../response.js';
import { type Incoming, routesOf, type Target } from '../route.js';
import {
  endpointHealthView,
  endpointPatch,
  endpointUpdate,
  endpointView,
  newEndpoint,
  presentEndpoint,
  presentEndpointHealth,
} from '../schemas/endpoint.js';
import { presentStatement, statementView, statementWindow } from '../schemas/statement.js';

const endpoints = pageView('WebhookEndpointPage', endpointView);
const cursors = idCursor('webhook endpoints');
type Path = '/webhook-endpoints/{webhookId}';
const DISABLING =
  'Disabling the endpoint stops new attempts at once and cancels its pending deliveries: up to 1,000 with this request, the rest soon after. Until then the endpoint cannot be enabled.';

/** `/webhook-endpoints`. */
export function endpointRoutes({ config, masterKeys, authority }: AppDependencies) {
  const guard = createAddressGuard(config.receivers);
  const rules: EndpointRules = {
    httpsOnly: config.environment === 'production',
    blocksLiteral: (hostname) => guard.blocksLiteral(hostname),
    maxEndpoints: config.maxEndpoints,
  };
  const route = routesOf('Webhook endpoints', 'webhooks');
  const change = async ({ caller, params, body, db }: Incoming<Path, unknown, z.output<typeof endpointPatch>>) => {
    const { url, description, max_concurrency: maxConcurrency, max_per_second: maxPerSecond, ...others } = body;
    const whose = { by: byOf(caller), clientId: caller.clientId, id: params.webhookId };
    const { signatures, headers, enabled } = others;
    const update = { ...whose, url, description, maxConcurrency, maxPerSecond, signatures, headers, enabled };
    return tagged(presentEndpoint(await updateEndpoint(db, rules, masterKeys, update)));
  };
  const version = async ({ caller, params, db }: Target<Path>) =>
    etagOf(presentEndpoint(await lockEndpoint(db, caller.clientId, params.webhookId)));
  const changing = {
    isAudited: true,
    tagged: true,
    version,
    refusals: [
      'url_not_canonical',
      'blocked_address',
      'header_not_allowed',
      'secret_immutable',
      'disabled_by_operator',
      'cancellation_in_progress',
    ],
    handle: change,
  } as const;
  return [
    route('POST', '/webhook-endpoints', {
      operationId: 'registerWebhookEndpoint',
      summary: 'Register an endpoint',
      description:
        'A URL may be registered more than once. To change a secret, register the URL again with the new secret, then delete the old endpoint.',
      isAudited: true,
      tagged: true,
      body: newEndpoint,
      status: 201,
      returns: endpointView,
      refusals: ['url_not_canonical', 'blocked_address', 'header_not_allowed', 'endpoint_limit_reached'],
      async handle({ caller, body, db }) {
        const { secret, max_concurrency: maxConcurrency, max_per_second: maxPerSecond, ...wanted } = body;
        const endpoint = await registerEndpoint(db, rules, masterKeys, {
          ...wanted,
          maxConcurrency,
          maxPerSecond,
          by: byOf(caller),
          clientId: caller.clientId,
          secret: new Secret(secret),
        });
        const made = presentEndpoint(endpoint);
        return created(`${config.baseUrl}/webhook-endpoints/${endpoint.id}`, made, { ETag: etagOf(made) });
      },
    }),
    route('GET', '/webhook-endpoints', {
      operationId: 'listWebhookEndpoints',
      summary: 'List endpoints',
      query: z.strictObject(paging(cursors)),
      returns: endpoints,
      async handle(request) {
        const rows = await listEndpoints(request.db, request.caller.clientId, pageOf(request.query));
        return respondWithPage(request, cursors, rows, presentEndpoint);
      },
    }),
    route('GET', '/webhook-endpoints/{webhookId}', {
      operationId: 'getWebhookEndpoint',
      summary: 'Read an endpoint',
      tagged: true,
      returns: endpointView,
      handle: async ({ caller, params, db }) =>
        tagged(presentEndpoint(await getEndpoint(db, caller.clientId, params.webhookId))),
    }),
    route('GET', '/webhook-endpoints/{webhookId}/health', {
      operationId: 'getWebhookEndpointHealth',
      summary: "Read an endpoint's health",
      description: 'What the console shows of its attempts and pending deliveries, at most a few seconds old.',
      returns: endpointHealthView,
      handle: async ({ caller, params: { webhookId }, db }) =>
        presentEndpointHealth(webhookId, await getEndpointHealth(db, caller.clientId, webhookId)),
    }),
    route('PUT', '/webhook-endpoints/{webhookId}', {
      operationId: 'updateWebhookEndpoint',
      summary: 'Replace an endpoint',
      description: `An omitted \`description\`, \`max_concurrency\` or \`max_per_second\` becomes null, omitted \`signatures\` or \`headers\` become none, an omitted \`enabled\` does not change. ${DISABLING}`,
      ...changing,
      body: endpointUpdate,
      returns: endpointView,
    }),
    route('PATCH', '/webhook-endpoints/{webhookId}', {
      operationId: 'patchWebhookEndpoint',
      summary: 'Change fields of an endpoint',
      description: `A JSON merge patch (RFC 7396): an omitted field does not change, and null clears \`description\`, \`max_concurrency\`, \`max_per_second\`, \`signatures\` or \`headers\`. A header without a value keeps the stored one. ${DISABLING}`,
      ...changing,
      body: endpointPatch,
      returns: endpointView,
    }),
    route('DELETE', '/webhook-endpoints/{webhookId}', {
      operationId: 'deleteWebhookEndpoint',
      summary: 'Delete an endpoint',
      description:
        'Erases the secret, stops new attempts at once and cancels pending deliveries: up to 1,000 with this request, the rest soon after.',
      isAudited: true,
      version,
      handle: ({ caller, params, db }) => deleteEndpoint(db, byOf(caller), caller.clientId, params.webhookId),
    }),
    routesOf('Events and deliveries', 'webhooks')('GET', '/webhook-endpoints/{webhookId}/statement', {
      operationId: 'getWebhookEndpointStatement',
      summary: "Read an endpoint's statement",
      description: `Counts the outcome of every event in a window of up to ${MAX_WINDOW_DAYS} days, to prove that all have arrived. Limit: ${describeLimit(LIMITS.statementsAtOnce)}; ${describeLimit(LIMITS.statements)}.`,
      query: statementWindow,
      returns: statementView,
      refusals: ['outside_retention', 'statement_limit_reached'],
      async handle({ caller: { clientId }, params: { webhookId: endpointId }, query: window, db }) {
        const { retention } = config;
        const request = { clientId, endpointId, ...window, retention, sign: authority.signStatement };
        return presentStatement(await readStatement(db, request));
      },
    }),
  ];
}
