import { z } from 'zod';
import { byOf, type Caller } from '../../auth/caller.js';
import { setClientKeys } from '../../auth/client-keys.js';
import {
  changeClient,
  createClient,
  listOrdinaryClients,
  lockOrdinaryClient,
  noSecret,
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
import { created, Reply, tagged } from '../response.js';
import { routesOf, type Target } from '../route.js';
import { present, text } from '../schemas/fields.js';
import {
  clientKeysView,
  createdClientView,
  etagOfClient,
  issuedSecretView,
  jwkSet,
  newOperatorClient,
  newSecret,
  operatorClientPatch,
  operatorClientView,
  presentClientKeys,
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
/** The fields of a client as its verbs have them. */
function clientFields<Fields extends ClientFields>({
  rate_limit: rateLimit,
  max_endpoints: maxEndpoints,
  require_private_key: requirePrivateKey,
  ...others
}: Fields) {
  return { ...others, rateLimit, maxEndpoints, requirePrivateKey };
}
type ClientFields = Pick<z.output<typeof operatorClientPatch>, 'rate_limit' | 'max_endpoints' | 'require_private_key'>;

const version = async ({ params: { id }, db }: Target<'/clients/{id}'>) =>
  etagOfClient(await lockOrdinaryClient(db, id));

const actorOf = (caller: Caller) => byOf(caller).actor;

/**
 * `/operator/clients`. A client with a scope of the operator does not exist here: a
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
      tagged: true,
      body: newOperatorClient,
      status: 201,
      returns: createdClientView,
      refusals: [...NOTIFY_REFUSALS, 'no_keys'],
      async handle({ caller, body, db }) {
        const { notify_url, notify_secret, ...wanted } = body;
        const made = await createClient(db, actorOf(caller), clientFields(wanted));
        await setNotify(db, caller, made.client.id, { notify_url, notify_secret });
        const client = await showOrdinaryClient(db, made.client.id);
        const secret = { secret_id: made.secretId, client_secret: made.clientSecret.reveal() };
        const shown = { ...presentOperatorClient(client), ...secret };
        return created(`${config.baseUrl}/operator/clients/${made.client.id}`, shown, { ETag: etagOfClient(client) });
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
      tagged: true,
      returns: operatorClientView,
      async handle({ params, db }) {
        const client = await showOrdinaryClient(db, params.id);
        return tagged(presentOperatorClient(client), etagOfClient(client));
      },
    }),
    route('PATCH', '/operator/clients/{id}', {
      operationId: 'patchClient',
      summary: 'Change a client',
      description:
        'A JSON merge patch (RFC 7396): an omitted field does not change, and null restores the deployment’s `rate_limit` or `max_endpoints`. In force within 5 s.',
      tagged: true,
      version,
      body: operatorClientPatch,
      returns: operatorClientView,
      refusals: [...NOTIFY_REFUSALS, 'no_keys'],
      async handle({ caller, params: { id }, body, db }) {
        const { notify_url, notify_secret, ...wanted } = body;
        await showOrdinaryClient(db, id);
        await changeClient(db, actorOf(caller), id, clientFields(wanted));
        await setNotify(db, caller, id, { notify_url, notify_secret });
        const client = await showOrdinaryClient(db, id);
        return tagged(presentOperatorClient(client), etagOfClient(client));
      },
    }),
    route('PUT', '/operator/clients/{id}/jwks', {
      operationId: 'setClientKeys',
      summary: "Replace a client's public keys",
      description:
        'The client then authenticates with `private_key_jwt` (RFC 7523). Tokens of a key that is taken off end within 5 s. To rotate without an outage, set the old and the new key, then the new key alone.',
      tagged: true,
      version,
      body: jwkSet,
      returns: clientKeysView,
      async handle({ caller, params: { id }, body: { keys }, db }) {
        await showOrdinaryClient(db, id);
        const client = await setClientKeys(db, actorOf(caller), id, keys);
        return tagged(presentClientKeys(client), etagOfClient(client));
      },
    }),
    route('POST', '/operator/clients/{id}/secrets', {
      ...withSecret,
      operationId: 'createClientSecret',
      summary: 'Give a client a further secret',
      description: 'A client has two active secrets at most. Revoke the old one once the client uses the new one.',
      tagged: true,
      version,
      body: newSecret,
      status: 201,
      returns: issuedSecretView,
      refusals: ['two_secrets'],
      async handle({ caller, params: { id }, body, db }) {
        await showOrdinaryClient(db, id);
        const { expire_old_after: after } = body;
        const expireOldIn = after === undefined ? undefined : parseDuration(after);
        const { secretId, clientSecret } = await rotateSecret(db, actorOf(caller), id, { expireOldIn });
        const made = { secret_id: secretId, client_secret: clientSecret.reveal() };
        return tagged(made, etagOfClient(await showOrdinaryClient(db, id)));
      },
    }),
    route('DELETE', '/operator/clients/{id}/secrets/{secret_id}', {
      operationId: 'revokeClientSecret',
      summary: 'Revoke a secret',
      tagged: true,
      async version({ params: { id, secret_id: secretId }, db }) {
        const client = await lockOrdinaryClient(db, id);
        if (!client.secrets.some((secret) => secret.id === secretId)) throw noSecret();
        return etagOfClient(client);
      },
      async handle({ caller, params: { id, secret_id: secretId }, db }) {
        await showOrdinaryClient(db, id);
        await revokeSecret(db, actorOf(caller), id, secretId);
        return new Reply(undefined, { ETag: etagOfClient(await showOrdinaryClient(db, id)) });
      },
    }),
    route('POST', '/operator/clients/{id}/revoke', {
      operationId: 'revokeClient',
      summary: 'Revoke a client permanently',
      tagged: true,
      version,
      async handle({ caller, params: { id }, db }) {
        await showOrdinaryClient(db, id);
        return new Reply(undefined, { ETag: etagOfClient(await revokeClient(db, actorOf(caller), id)) });
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
