import { InvalidArgumentError } from 'commander';
import { SCOPES } from '../../auth/caller.js';
import type { ClientSecretInfo } from '../../auth/clients.js';
import * as auth from '../../auth/clients.js';
import { makeOperatorLink } from '../../auth/console-sessions.js';
import type { Client } from '../../platform/database/generated/client.js';
import { isNetwork } from '../../platform/networks.js';
import { ENDPOINT_LIMITS, RATE_LIMITS } from '../../platform/vocabulary.js';
import { eraseClient } from '../../transfers/erase-client.js';
import { type Command, parseTime, wholeNumber } from '../command.js';
import { canAsk, confirm } from '../terminal.js';
import type { Fields } from '../view.js';
import { baseUrlIn, onDatabase } from '../with-database.js';

/** `clients …`: the clients of the API and their secrets. */
export function declare(clients: Command): void {
  clients
    .command('create')
    .description('create a client and print its credentials; they are shown only once')
    .requiredOption('--name <name>', 'a display name of 1 to 255 characters', parseName)
    .option('--scope <scopes>', `separated by spaces, from: ${SCOPES.join(' ')} (default: the first four)`, parseScopes)
    .option(
      '--allow <cidr>',
      'a network that the client may call from; may be repeated (default: any network)',
      parseNetworks,
    )
    .does(create);

  clients.command('list').description('list all clients, including revoked clients').does(list);

  clients.command('show <client_id>').description('show a client and the ids of its secrets').does(show);

  clients
    .command('rotate-secret <client_id>')
    .description('add a secret and print it once; the old one stays valid, and a client has two at most')
    .option(
      '--expire-old <duration>',
      'expire the old secrets after this time, such as 24h (default: never)',
      parseTime,
    )
    .option('--revoke <secret_id>', 'revoke this secret now; required where the client already has two')
    .does(rotateSecret);

  clients
    .command('revoke <client_id>')
    .description('revoke a client and its tokens; effective within 5 s')
    .does(revoke);

  clients
    .command('revoke-secret <client_id> <secret_id>')
    .description('revoke a secret and the tokens issued with it; effective within 5 s')
    .does(revokeSecret);

  clients
    .command('allow <client_id>')
    .argument('[cidr...]', 'if omitted, the client may call from any network', parseNetworks)
    .description('replace the list of networks that a client may call from')
    .does(allow);

  clients
    .command('set-limits <client_id>')
    .description('set limits of a client; default: the value of the deployment')
    .option(
      '--rate <n>',
      `requests a second, ${RATE_LIMITS.min} to ${RATE_LIMITS.max}, or default`,
      limitOf(RATE_LIMITS),
    )
    .option(
      '--endpoints <n>',
      `webhook endpoints, ${ENDPOINT_LIMITS.min} to ${ENDPOINT_LIMITS.max}, or default`,
      limitOf(ENDPOINT_LIMITS),
    )
    .does(setLimits);

  clients
    .command('erase <client_id>')
    .description('erase names and accounts of a revoked client; needs the DATABASE_URL of the owner')
    .option('--yes', 'do not ask')
    .does(erase);

  clients
    .command('console-link <client_id>')
    .option('--viewer', 'the session changes nothing')
    .description('make a sign-in link of the console for a client; it works once and for 5 minutes')
    .does(consoleLink);
}

const limitOf = ({ min, max }: { min: number; max: number }) => {
  const parse = wholeNumber(min, max, `Give a number from ${min} to ${max}, or default.`);
  return (text: string) => (text === 'default' ? text : parse(text));
};

function parseName(text: string): string {
  if (text.trim() === '' || [...text].length > 255) throw new InvalidArgumentError('Give 1 to 255 characters.');
  return text;
}

function parseScopes(text: string): string[] {
  const scopes = text.split(/[\s,]+/).filter((scope) => scope !== '');
  const unknown = scopes.find((scope) => !(SCOPES as readonly string[]).includes(scope));
  if (unknown !== undefined || scopes.length === 0)
    throw new InvalidArgumentError(`The scopes are ${SCOPES.join(' ')}.`);
  return scopes;
}

function parseNetworks(text: string, before: string[] | undefined): string[] {
  if (!isNetwork(text)) throw new InvalidArgumentError('Give a CIDR such as 203.0.113.0/24 or 2001:db8::/32.');
  return [...(before ?? []), text];
}

interface NewClientOptions {
  name: string;
  scope?: string[];
  allow?: string[];
}

interface RotationOptions {
  /** ms */
  expireOld?: number;
  revoke?: string;
}

const SHOWN_ONCE = 'The secret is shown only once; send it to the client through a secure channel.';

const create = onDatabase(async ({ database, actor }, options: NewClientOptions) => {
  const { name, scope: scopes, allow: networks } = options;
  const { client, clientSecret, secretId } = await auth.createClient(database, actor, { name, scopes, networks });
  const client_secret = clientSecret.reveal();
  return {
    json: { ...presentClient(client), client_secret, secret_id: secretId },
    text: [{ fields: { client_id: client.id, client_secret } }, SHOWN_ONCE],
  };
});

const list = onDatabase(async ({ database }) => {
  const found = await auth.listClients(database);
  return {
    json: found.map(presentClient),
    text: { rows: found.map(forPeople), wraps: ['name', 'scopes', 'networks'], none: 'no clients yet' },
  };
});

const show = onDatabase(async ({ database }, id: string) => {
  const client = await auth.showClient(database, id);
  const secrets = client.secrets.map(presentSecret);
  return {
    json: { ...presentClient(client), secrets },
    text: [clientDetails(client), { rows: secrets, none: 'no secrets' }],
  };
});

const rotateSecret = onDatabase(async ({ database, actor }, id: string, options: RotationOptions) => {
  const wanted = { expireOldIn: options.expireOld, revoke: options.revoke };
  const { secretId, clientSecret, revoked } = await auth.rotateSecret(database, actor, id, wanted);
  const client_secret = clientSecret.reveal();
  return {
    json: { client_id: id, client_secret, secret_id: secretId, revoked },
    text: [{ fields: { client_secret } }, SHOWN_ONCE, ...revoked.map((secret) => `secret ${secret} revoked`)],
  };
});

const revoke = onDatabase(async ({ database, actor }, id: string) =>
  resultOf(await auth.revokeClient(database, actor, id)),
);

const revokeSecret = onDatabase(async ({ database, actor }, id: string, secretId: string) => {
  await auth.revokeSecret(database, actor, id, secretId);
  return { json: { client_id: id, secret_id: secretId, revoked: true }, text: `secret ${secretId} revoked` };
});

const allow = onDatabase(async ({ database, actor }, id: string, networks: string[] | undefined) =>
  resultOf(await auth.changeClient(database, actor, id, { networks: networks ?? [] })),
);

/** `default`: the value of the deployment. */
type Own = number | 'default';
const limitFrom = (own: Own | undefined) => (own === 'default' ? null : own);

const setLimits = onDatabase(async ({ database, actor }, id: string, options: { rate?: Own; endpoints?: Own }) => {
  if (options.rate === undefined && options.endpoints === undefined) throw new Error('give --rate or --endpoints');
  const limits = { rateLimit: limitFrom(options.rate), maxEndpoints: limitFrom(options.endpoints) };
  return resultOf(await auth.changeClient(database, actor, id, limits));
});

const erase = onDatabase(async ({ database, actor }, id: string, { yes }: { yes?: true }) => {
  const { name } = await auth.showClient(database, id);
  if (!yes && !canAsk()) throw new Error('this cannot be undone; give --yes if there is no terminal to ask on');
  if (!yes) await confirm(`Erase the names and accounts of the client ${name} permanently?`);
  const { transfers, endpoints } = await eraseClient(database, { actor }, id);
  return {
    json: { client_id: id, transfers, endpoints },
    text: `erased: ${transfers} transfers, ${endpoints} endpoints`,
  };
});

const consoleLink = onDatabase(async (context, clientId: string, { viewer }: { viewer?: true }) => {
  const { database, environment, actor } = context;
  const role = viewer ? 'viewer' : 'editor';
  const { url, expiresAt } = await makeOperatorLink(database, actor, baseUrlIn(environment), clientId, role);
  const link = { url, expires_at: expiresAt };
  return {
    json: link,
    text: [{ fields: link }, 'The link works once; send it to one person of the client through a secure channel.'],
  };
});

function presentClient({ id, name, scopes, networks, createdAt, revokedAt, erasedAt, ...limits }: Client) {
  return {
    client_id: id,
    name,
    scopes,
    networks,
    rate_limit: limits.rateLimit,
    max_endpoints: limits.maxEndpoints,
    created_at: createdAt,
    revoked_at: revokedAt,
    erased_at: erasedAt,
  };
}

function presentSecret({ id, createdAt, expiresAt, revokedAt }: ClientSecretInfo) {
  return { secret_id: id, created_at: createdAt, expires_at: expiresAt, revoked_at: revokedAt };
}

const clientDetails = (client: Client): Fields => ({ fields: forPeople(client) });

const resultOf = (client: Client) => ({ json: presentClient(client), text: clientDetails(client) });

function forPeople(client: Client) {
  return {
    ...presentClient(client),
    scopes: client.scopes.join(' '),
    networks: client.networks.join(', ') || 'anywhere',
  };
}
