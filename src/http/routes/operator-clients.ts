import { z } from 'zod';
import { byOf, type Caller } from '../../auth/caller.js';
import {
  changeClient,
  createClient,
  listOrdinaryClients,
  revokeClient,
  revokeSecret,
  rotateSecret,
  showOrdinaryClient,
} from '../../auth/clients.js';
import { makeOperatorLink } from '../../auth/console-sessions.js';
import { createAddressGuard } from '../../delivery/sender/address-guard.js';
import { setClientNotify } from '../../endpoints/client-notify.js';
import type { Handle } from '../../platform/database/database.js';
import { parseDuration } from '../../platform/duration.js';
import { Secret } from '../../platform/secret.js';
import type { AppDependencies } from '../context.js';
import { idCursor, pageOf, pageView, paging, respondWithPage } from '../paging.js';
import { created } from '../response.js';
import { routesOf } from '../route.js';
import { present, text } from '../schemas/fields.js';
import {
  createdClientView,
  issuedSecretView,
  newOperatorClient,
  newSecret,
  operatorClientPatch,
  operatorClientView,
  presentOperatorClient,
} from '../schemas/operator-client.js';
import { newSession, signInLink } from './console-sessions.js';

const cursors = idCursor('clients');
const filters = z.strictObject({
  name: text({ max: 255 }).optional().meta({ description: 'Only clients with this text in their name, in any case.' }),
  ...paging(cursors),
});

type Notify = Pick<z.output<typeof operatorClientPatch>, 'notify_url' | 'notify_secret'>;
const NOTIFY_REFUSALS = ['url_not_canonical', 'blocked_address'] as const;

const actorOf = (caller: Caller) => byOf(caller).actor;

/**
 * `/operator/clients` (contract, Operator's clients). A client with a scope of the operator does not exist here: a
 * token for this route must not make itself one that may do more.
 */
export function operatorClientRoutes({ config, masterKeys }: AppDependencies) {
  const route = routesOf('Operator: clients', ['operator:clients', 'operator']);
  const guard = createAddressGuard(config.receivers);
  const rules = {
    httpsOnly: config.environment === 'production',
    blocksLiteral: (hostname: string) => guard.blocksLiteral(hostname),
  };
  const setNotify = (db: Handle, caller: Caller, clientId: string, body: Notify) => {
    const { notify_url: url, notify_secret } = body;
    const secret = typeof notify_secret === 'string' ? new Secret(notify_secret) : notify_secret;
    return setClientNotify(db, rules, masterKeys, { actor: actorOf(caller), clientId, url, secret });
  };
  const withSecret = { idempotencyKey: 'rejected' } as const;
  return [
    route('POST', '/operator/clients', {
      ...withSecret,
      operationId: 'createClient',
      summary: 'Create a client',
      body: newOperatorClient,
      status: 201,
      returns: createdClientView,
      refusals: NOTIFY_REFUSALS,
      async handle({ caller, body, db }) {
        const { rate_limit: rateLimit, max_endpoints: maxEndpoints, notify_url, notify_secret, ...wanted } = body;
        const made = await createClient(db, actorOf(caller), { ...wanted, rateLimit, maxEndpoints });
        await setNotify(db, caller, made.client.id, { notify_url, notify_secret });
        const client = await showOrdinaryClient(db, made.client.id);
        const secret = { secret_id: made.secretId, client_secret: made.clientSecret.reveal() };
        return created(`${config.baseUrl}/operator/clients/${made.client.id}`, {
          ...presentOperatorClient(client),
          ...secret,
        });
      },
    }),
    route('GET', '/operator/clients', {
      operationId: 'listClients',
      summary: 'List clients',
      query: filters,
      returns: pageView('ClientPage', operatorClientView),
      async handle(request) {
        const { before, take } = pageOf(request.query);
        const rows = await listOrdinaryClients(request.db, { name: request.query.name, before, take });
        return respondWithPage(request, cursors, rows, presentOperatorClient);
      },
    }),
    route('GET', '/operator/clients/{id}', {
      operationId: 'getClient',
      summary: 'Read a client',
      returns: operatorClientView,
      handle: async ({ params, db }) => presentOperatorClient(await showOrdinaryClient(db, params.id)),
    }),
    route('PATCH', '/operator/clients/{id}', {
      operationId: 'patchClient',
      summary: 'Change a client',
      description:
        'A JSON merge patch (RFC 7396): an omitted field does not change, and null restores the deployment’s `rate_limit` or `max_endpoints`. In force within 5 s.',
      body: operatorClientPatch,
      returns: operatorClientView,
      refusals: NOTIFY_REFUSALS,
      async handle({ caller, params: { id }, body, db }) {
        const { rate_limit: rateLimit, max_endpoints: maxEndpoints, notify_url, notify_secret, ...others } = body;
        await showOrdinaryClient(db, id);
        await changeClient(db, actorOf(caller), id, { ...others, rateLimit, maxEndpoints });
        await setNotify(db, caller, id, { notify_url, notify_secret });
        return presentOperatorClient(await showOrdinaryClient(db, id));
      },
    }),
    route('POST', '/operator/clients/{id}/secrets', {
      ...withSecret,
      operationId: 'createClientSecret',
      summary: 'Give a client a further secret',
      description: 'A client has two active secrets at most. Revoke the old one once the client uses the new one.',
      body: newSecret,
      status: 201,
      returns: issuedSecretView,
      refusals: ['two_secrets'],
      async handle({ caller, params: { id }, body, db }) {
        await showOrdinaryClient(db, id);
        const { expire_old_after: after } = body;
        const expireOldIn = after === undefined ? undefined : parseDuration(after);
        const { secretId, clientSecret } = await rotateSecret(db, actorOf(caller), id, { expireOldIn });
        return { secret_id: secretId, client_secret: clientSecret.reveal() };
      },
    }),
    route('DELETE', '/operator/clients/{id}/secrets/{secret_id}', {
      operationId: 'revokeClientSecret',
      summary: 'Revoke a secret',
      async handle({ caller, params: { id, secret_id: secretId }, db }) {
        await showOrdinaryClient(db, id);
        await revokeSecret(db, actorOf(caller), id, secretId);
      },
    }),
    route('POST', '/operator/clients/{id}/revoke', {
      operationId: 'revokeClient',
      summary: 'Revoke a client permanently',
      async handle({ caller, params: { id }, db }) {
        await showOrdinaryClient(db, id);
        await revokeClient(db, actorOf(caller), id);
      },
    }),
    route('POST', '/operator/clients/{id}/console-sessions', {
      ...withSecret,
      operationId: 'createClientConsoleSession',
      summary: "Create a sign-in link to a client's console",
      body: newSession,
      status: 201,
      returns: signInLink,
      refusals: ['console_link_limit_reached'],
      async handle({ caller, params: { id }, body: { role }, db }) {
        await showOrdinaryClient(db, id);
        return present(signInLink, await makeOperatorLink(db, actorOf(caller), config.baseUrl, id, role));
      },
    }),
  ];
}
