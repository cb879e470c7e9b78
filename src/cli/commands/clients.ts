import { readFileSync } from 'node:fs';
import { InvalidArgumentError, Option } from 'commander';
import { readSecretFile } from '../../../clients/typescript/src/cli/secret-file.js';
import { SCOPES } from '../../auth/caller.js';
import { setClientKeys } from '../../auth/client-keys.js';
import * as auth from '../../auth/clients.js';
import { makeOperatorLink } from '../../auth/console-sessions.js';
import { createAddressGuard } from '../../delivery/sender/address-guard.js';
import { setClientNotify } from '../../endpoints/client-notify.js';
import { endpointSecret } from '../../http/schemas/endpoint.js';
import { present, time } from '../../http/schemas/fields.js';
import {
  jwkSet,
  operatorClientView,
  presentClientKeys,
  presentOperatorClient,
  shownClient,
} from '../../http/schemas/operator-client.js';
import { errorsOf } from '../../http/validation-errors.js';
import type { Client } from '../../platform/database/generated/client.js';
import { isNetwork } from '../../platform/networks.js';
import { Secret } from '../../platform/secret.js';
import { ENDPOINT_LIMITS, RATE_LIMITS } from '../../platform/vocabulary.js';
import { eraseClient } from '../../transfers/erase-client.js';
import {
  type Asked,
  type Command,
  confirmed,
  type Limit,
  limitOf,
  limitWithin,
  parseTime,
  textOf,
} from '../command.js';
import { baseUrlIn, masterKeysOf, onDatabase } from '../with-database.js';

/** `clients …`: the clients of the API and their secrets. */
export function declare(clients: Command): void {
  clients
    .command('create')
    .description('create a client and print its credentials; they are shown only once')
    .requiredOption('--name <name>', 'a display name of 1 to 255 characters', textOf({ min: 1, max: 255 }))
    .option('--scope <scopes>', `separated by spaces, from: ${SCOPES.join(' ')} (default: the first four)`, parseScopes)
    .option('--allow <cidr>', 'a network that may call; may be repeated (default: any network)', parseNetworks)
    .does(create);

  clients
    .command('list')
    .description('list all clients, including revoked clients')
    .does(list, ['client_id', 'name', 'created_at', 'revoked_at', 'scopes']);

  clients
    .command('show <client_id>')
    .description('show a client and the ids of its secrets')
    .does(show, {
      secrets: ['secret_id', 'created_at', 'expires_at', 'revoked_at'],
      keys: ['kid', 'alg', 'created_at'],
    });

  clients
    .command('rotate-secret <client_id>')
    .description('add a secret and print it once; the old one stays valid, and a client has two at most')
    .option('--expire-old <duration>', 'expire the old secrets after this time (default: never)', parseTime)
    .option('--revoke <secret_id>', 'revoke this secret now; required where the client already has two')
    .does(rotateSecret);

  clients.command('revoke <client_id>').description('revoke a client and its tokens within 5 s').asks().does(revoke);

  clients
    .command('revoke-secret <client_id> <secret_id>')
    .description('revoke a secret and the tokens issued with it within 5 s')
    .does(revokeSecret);

  clients
    .command('allow <client_id>')
    .argument('[cidr...]', 'if omitted, the client may call from any network', parseNetworks)
    .description('replace the list of networks that a client may call from')
    .does(allow);

  clients
    .command('set-limits <client_id>')
    .description('set limits of a client; default: the value of the deployment')
    .option('--rate <n>', 'requests a second, or default', limitWithin(RATE_LIMITS))
    .option('--endpoints <n>', 'webhook endpoints, or default', limitWithin(ENDPOINT_LIMITS))
    .does(setLimits);

  clients
    .command('set-notify <client_id>')
    .description('set where a client is told about its endpoints, and the secret that signs the messages')
    .option('--url <url>', 'where the messages go')
    .option('--secret-file <file>', 'a file with the secret: 16 to 256 printable ASCII characters')
    .addOption(new Option('--secret <secret>', 'the secret itself; others see it in ps').conflicts('secretFile'))
    .addOption(new Option('--off', 'tell the client nothing any more').conflicts(['url', 'secret', 'secretFile']))
    .does(setNotify);

  clients
    .command('set-keys <client_id> <file>')
    .description('replace the public keys that authenticate a client (private_key_jwt) by those of a JWK set')
    .option('--require-private-key', 'refuse the secrets of the client from now on')
    .option('--no-require-private-key', 'accept its secrets again')
    .does(setKeys, { keys: ['kid', 'alg', 'created_at'] });

  clients
    .command('erase <client_id>')
    .description('erase names and accounts of a revoked client; needs the DATABASE_URL of the owner')
    .asks()
    .does(erase);

  clients
    .command('console-link <client_id>')
    .option('--viewer', 'the session changes nothing')
    .description('make a sign-in link of the console for a client; it works once and for 5 minutes')
    .does(consoleLink);
}

function parseScopes(text: string): string[] {
  const scopes = text.split(/[\s,]+/).filter((scope) => scope !== '');
  const areKnown = scopes.every((scope) => (SCOPES as readonly string[]).includes(scope));
  if (scopes.length === 0 || !areKnown) throw new InvalidArgumentError(`The scopes are ${SCOPES.join(' ')}.`);
  return scopes;
}

function parseNetworks(text: string, before: string[] = []): string[] {
  if (!isNetwork(text)) throw new InvalidArgumentError('Give a CIDR such as 203.0.113.0/24 or 2001:db8::/32.');
  return [...before, text];
}

type NewClientOptions = { name: string; scope?: string[]; allow?: string[] };
/** `expireOld` in ms. */
type RotationOptions = { expireOld?: number; revoke?: string };
type NotifyOptions = { url?: string; secret?: string; secretFile?: string; off?: true };
type KeyOptions = { requirePrivateKey?: boolean };
type LimitOptions = { rate?: Limit; endpoints?: Limit };

const create = onDatabase(async ({ database, actor }, options: NewClientOptions) => {
  const { name, scope: scopes, allow: networks } = options;
  const { client, clientSecret, secretId } = await auth.createClient(database, actor, { name, scopes, networks });
  return { json: { ...shown(client), client_secret: clientSecret.reveal(), secret_id: secretId } };
});

const list = onDatabase(async ({ database }) => ({ json: (await auth.listClients(database)).map(shown) }));

const show = onDatabase(async ({ database }, id: string) => {
  const client = await auth.showClient(database, id);
  const { secrets, keys } = presentOperatorClient(client);
  return { json: { ...shown(client), secrets, keys } };
});

const rotateSecret = onDatabase(async ({ database, actor }, id: string, options: RotationOptions) => {
  const wanted = { expireOldIn: options.expireOld, revoke: options.revoke };
  const { secretId, clientSecret, revoked } = await auth.rotateSecret(database, actor, id, wanted);
  return { json: { client_id: id, client_secret: clientSecret.reveal(), secret_id: secretId, revoked } };
});

const revoke = onDatabase(async ({ database, actor }, id: string, asked: Asked) => {
  const { name } = await auth.showClient(database, id);
  await confirmed(asked, async () => `Revoke the client ${name} permanently?`);
  return { json: shown(await auth.revokeClient(database, actor, id)) };
});

const revokeSecret = onDatabase(async ({ database, actor }, id: string, secretId: string) => {
  await auth.revokeSecret(database, actor, id, secretId);
  return { json: { client_id: id, secret_id: secretId, revoked: true } };
});

const allow = onDatabase(async ({ database, actor }, id: string, networks: string[] = []) => ({
  json: shown(await auth.changeClient(database, actor, id, { networks })),
}));

const setLimits = onDatabase(async ({ database, actor }, id: string, options: LimitOptions, command: Command) => {
  const { rate, endpoints } = options;
  if (rate === undefined && endpoints === undefined) command.error('error: give --rate or --endpoints');
  const limits = { rateLimit: rate && limitOf(rate), maxEndpoints: endpoints && limitOf(endpoints) };
  return { json: shown(await auth.changeClient(database, actor, id, limits)) };
});

const setKeys = onDatabase(async ({ database, actor }, id: string, file: string, options: KeyOptions) => {
  const set = jwkSet.safeParse(readJson(file), { reportInput: true });
  if (!set.success) {
    const wrong = errorsOf(set.error, 'field').map(({ pointer, detail }) => `${pointer || 'the document'} ${detail}`);
    throw new Error(`${file}: ${wrong.join('; ')}`);
  }
  const { requirePrivateKey } = options;
  const client = await database.transaction(async (tx) => {
    await setClientKeys(tx, actor, id, set.data.keys);
    await auth.changeClient(tx, actor, id, { requirePrivateKey });
    return auth.showClient(tx, id);
  });
  return { json: { client_id: id, require_private_key: client.requirePrivateKey, ...presentClientKeys(client) } };
});

/** @throws Error of one line that names the file */
function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new Error(`${file}: ${error instanceof SyntaxError ? 'is not JSON' : (error as Error).message}`);
  }
}

const setNotify = onDatabase(async (context, id: string, options: NotifyOptions, command: Command) => {
  const { database, environment, actor } = context;
  const { url, secret, secretFile, off } = options;
  const text = secretFile === undefined ? secret : (await readSecretFile(secretFile)).toString();
  if (!off && url === undefined && text === undefined) command.error('error: give --url and --secret-file, or --off');
  const fault = text === undefined ? undefined : endpointSecret.safeParse(text).error?.issues[0]?.message;
  if (fault) command.error(`error: the secret ${fault}`);
  await auth.showClient(database, id);
  const guard = createAddressGuard({
    allowPrivate: environment.ALLOW_PRIVATE_RECEIVERS,
    blocked: environment.BLOCKED_RECEIVERS,
  });
  const rules = {
    httpsOnly: environment.ENVIRONMENT === 'production',
    blocksLiteral: (host: string) => guard.blocksLiteral(host),
  };
  const change = off ? { url: null } : { url, secret: text === undefined ? undefined : new Secret(text) };
  await setClientNotify(database, rules, masterKeysOf(environment), { actor, clientId: id, ...change });
  return { json: shown(await auth.showClient(database, id)) };
});

const erase = onDatabase(async ({ database, actor }, id: string, asked: Asked) => {
  const { name } = await auth.showClient(database, id);
  await confirmed(asked, async () => `Erase the names and accounts of the client ${name} permanently?`);
  const { transfers, endpoints } = await eraseClient(database, { actor }, id);
  return { json: { client_id: id, transfers, endpoints } };
});

const consoleLink = onDatabase(async (context, clientId: string, { viewer }: { viewer?: true }) => {
  const { database, environment, actor } = context;
  const role = viewer ? 'viewer' : 'editor';
  const { url, expiresAt } = await makeOperatorLink(database, actor, baseUrlIn(environment), clientId, role);
  return { json: { url, expires_at: expiresAt } };
});

const clientView = operatorClientView.omit({ secrets: true, keys: true }).extend({ erased_at: time.nullable() });
const shown = (client: Client) => present(clientView, shownClient(client));
