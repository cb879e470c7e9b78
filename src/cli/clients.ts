import { type Command, InvalidArgumentError } from 'commander';
import { SCOPES } from '../auth/caller.js';
import {
  allowNetworks,
  type Client,
  type ClientSecretInfo,
  createClient,
  listClients,
  revokeClient,
  revokeSecret,
  rotateSecret,
  showClient,
} from '../auth/clients.js';
import { isNetwork } from '../auth/networks.js';
import { parseDuration } from '../duration.js';
import { answers } from './command.js';
import { withDatabase } from './with-database.js';

const SHOWN_ONCE = 'The secret is shown this once; hand it over on a safe way.';

/** `clients …`: who may call the API. */
export function addClients(program: Command): void {
  const clients = program.command('clients').description('who may call the API');

  answers(
    clients
      .command('create')
      .description('make a client and print its credentials, this once')
      .requiredOption('--name <name>', 'for people, 1 to 255 characters', parseName)
      .option(
        '--scope <scopes>',
        `separated by blanks, of: ${SCOPES.join(' ')} (default: all but operator)`,
        parseScopes,
      )
      .option('--allow <cidr>', 'a network it may call from, may be repeated (default: anywhere)', parseNetworks),
    async (options: { name: string; scope?: string[]; allow?: string[] }) => {
      const { client, clientSecret, secretId } = await withDatabase((database) =>
        createClient(database, { name: options.name, scopes: options.scope, networks: options.allow }),
      );
      const client_secret = clientSecret.reveal();
      return {
        json: { ...present(client), client_secret, secret_id: secretId },
        text: `client_id      ${client.id}\nclient_secret  ${client_secret}\n\n${SHOWN_ONCE}`,
      };
    },
  );

  answers(clients.command('list').description('every client, revoked ones too'), async () => {
    const found = await withDatabase(listClients);
    return { json: found.map(present), text: found.map(line).join('\n') || 'no clients yet' };
  });

  answers(
    clients.command('show').argument('<client_id>').description('a client and its secrets (their ids)'),
    async (id: string) => {
      const client = await withDatabase((database) => showClient(database, id));
      const secrets = client.secrets.map(presentSecret);
      return {
        json: { ...present(client), secrets },
        text: [line(client), ...secrets.map((secret) => `  secret ${secret.secret_id}  ${state(secret)}`)].join('\n'),
      };
    },
  );

  answers(
    clients
      .command('rotate-secret')
      .argument('<client_id>')
      .description('print a further secret, this once; of more than two the oldest ends')
      .option('--expire-old <duration>', 'when the old ones end, such as 24h (default: they stay)', parseTime),
    async (id: string, options: { expireOld?: number }) => {
      const { secretId, clientSecret } = await withDatabase((database) =>
        rotateSecret(database, id, { expireOldIn: options.expireOld }),
      );
      const client_secret = clientSecret.reveal();
      return {
        json: { client_id: id, client_secret, secret_id: secretId },
        text: `client_secret  ${client_secret}\n\n${SHOWN_ONCE}`,
      };
    },
  );

  answers(
    clients.command('revoke').argument('<client_id>').description('end a client and its tokens, within 5 s'),
    async (id: string) => {
      const client = await withDatabase((database) => revokeClient(database, id));
      return { json: present(client), text: line(client) };
    },
  );

  answers(
    clients
      .command('revoke-secret')
      .argument('<client_id>')
      .argument('<secret_id>')
      .description('end one secret and the tokens got with it, within 5 s'),
    async (id: string, secretId: string) => {
      await withDatabase((database) => revokeSecret(database, id, secretId));
      return { json: { client_id: id, secret_id: secretId, revoked: true }, text: `secret ${secretId} revoked` };
    },
  );

  answers(
    clients
      .command('allow')
      .argument('<client_id>')
      .argument('[cidr...]', 'none: anywhere', parseNetworks)
      .description('replace the networks that a client may call from'),
    async (id: string, networks: string[] | undefined) => {
      const client = await withDatabase((database) => allowNetworks(database, id, networks ?? []));
      return { json: present(client), text: line(client) };
    },
  );
}

function present(client: Client) {
  return {
    client_id: client.id,
    name: client.name,
    scopes: client.scopes,
    networks: client.networks,
    created_at: client.createdAt.toISOString(),
    revoked_at: client.revokedAt?.toISOString() ?? null,
  };
}

function presentSecret(secret: ClientSecretInfo) {
  return {
    secret_id: secret.id,
    created_at: secret.createdAt.toISOString(),
    expires_at: secret.expiresAt?.toISOString() ?? null,
    revoked_at: secret.revokedAt?.toISOString() ?? null,
  };
}

function line(client: Client): string {
  const from = client.networks.length > 0 ? client.networks.join(', ') : 'anywhere';
  const revoked = client.revokedAt ? `  revoked ${client.revokedAt.toISOString()}` : '';
  return `${client.id}  ${client.name}  (${client.scopes.join(' ')}; from ${from})${revoked}`;
}

function state(secret: ReturnType<typeof presentSecret>): string {
  if (secret.revoked_at) return `revoked ${secret.revoked_at}`;
  return secret.expires_at ? `expires ${secret.expires_at}` : `since ${secret.created_at}`;
}

function parseName(text: string): string {
  if (text.trim() === '' || text.length > 255) throw new InvalidArgumentError('Give 1 to 255 characters.');
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

function parseTime(text: string): number {
  const milliseconds = parseDuration(text);
  if (milliseconds === undefined) throw new InvalidArgumentError('Give a duration such as 30s, 24h or 7d.');
  return milliseconds;
}
