import { type Command, InvalidArgumentError } from 'commander';
import { personHere } from '../audit/actor.js';
import { SCOPES } from '../auth/caller.js';
import {
  allowNetworks,
  createClient,
  listClients,
  revokeClient,
  revokeSecret,
  rotateSecret,
  showClient,
} from '../auth/clients.js';
import { makeOperatorLink } from '../auth/console-codes.js';
import { isNetwork } from '../networks.js';
import { parseTime } from './arguments.js';
import { clientDetails, clientTable, presentClient, presentSecret, secretTable } from './client-view.js';
import { setAction } from './command.js';
import { baseUrlIn, withDatabase } from './with-database.js';

const SHOWN_ONCE = 'The secret is shown only once; send it to the client through a secure channel.';

/** `clients …`: the clients of the API and their secrets. */
export function addClients(program: Command): void {
  const clients = program.command('clients').description('manage the clients that may call the API');

  setAction(
    clients
      .command('create')
      .description('create a client and print its credentials; they are shown only once')
      .requiredOption('--name <name>', 'a display name of 1 to 255 characters', parseName)
      .option(
        '--scope <scopes>',
        `separated by spaces, from: ${SCOPES.join(' ')} (default: all but operator)`,
        parseScopes,
      )
      .option(
        '--allow <cidr>',
        'a network that the client may call from; may be repeated (default: any network)',
        parseNetworks,
      ),
    async (options: { name: string; scope?: string[]; allow?: string[] }) => {
      const { client, clientSecret, secretId } = await withDatabase((database) =>
        createClient(database, personHere(), { name: options.name, scopes: options.scope, networks: options.allow }),
      );
      const client_secret = clientSecret.reveal();
      return {
        json: { ...presentClient(client), client_secret, secret_id: secretId },
        text: [
          {
            fields: [
              ['client_id', client.id],
              ['client_secret', client_secret],
            ],
          },
          SHOWN_ONCE,
        ],
      };
    },
  );

  setAction(clients.command('list').description('list all clients, including revoked clients'), async () => {
    const found = await withDatabase(listClients);
    return { json: found.map(presentClient), text: clientTable(found) };
  });

  setAction(
    clients.command('show').argument('<client_id>').description('show a client and the ids of its secrets'),
    async (id: string) => {
      const client = await withDatabase((database) => showClient(database, id));
      const secrets = client.secrets.map(presentSecret);
      return {
        json: { ...presentClient(client), secrets },
        text: [clientDetails(client), secretTable(client.secrets)],
      };
    },
  );

  setAction(
    clients
      .command('rotate-secret')
      .argument('<client_id>')
      .description('add a secret and print it once; a client has at most two, so a third one revokes the oldest')
      .option(
        '--expire-old <duration>',
        'expire the old secrets after this time, such as 24h (default: never)',
        parseTime,
      ),
    async (id: string, options: { expireOld?: number }) => {
      const { secretId, clientSecret } = await withDatabase((database) =>
        rotateSecret(database, personHere(), id, { expireOldIn: options.expireOld }),
      );
      const client_secret = clientSecret.reveal();
      return {
        json: { client_id: id, client_secret, secret_id: secretId },
        text: [{ fields: [['client_secret', client_secret]] }, SHOWN_ONCE],
      };
    },
  );

  setAction(
    clients
      .command('revoke')
      .argument('<client_id>')
      .description('revoke a client and its tokens; effective within 5 s'),
    async (id: string) => {
      const client = await withDatabase((database) => revokeClient(database, personHere(), id));
      return { json: presentClient(client), text: clientDetails(client) };
    },
  );

  setAction(
    clients
      .command('revoke-secret')
      .argument('<client_id>')
      .argument('<secret_id>')
      .description('revoke a secret and the tokens issued with it; effective within 5 s'),
    async (id: string, secretId: string) => {
      await withDatabase((database) => revokeSecret(database, personHere(), id, secretId));
      return { json: { client_id: id, secret_id: secretId, revoked: true }, text: `secret ${secretId} revoked` };
    },
  );

  setAction(
    clients
      .command('allow')
      .argument('<client_id>')
      .argument('[cidr...]', 'if omitted, the client may call from any network', parseNetworks)
      .description('replace the list of networks that a client may call from'),
    async (id: string, networks: string[] | undefined) => {
      const client = await withDatabase((database) => allowNetworks(database, personHere(), id, networks ?? []));
      return { json: presentClient(client), text: clientDetails(client) };
    },
  );

  setAction(
    clients
      .command('console-link')
      .argument('<client_id>')
      .option('--viewer', 'the session changes nothing')
      .description('make a sign-in link of the console for a client; it works once and for 5 minutes'),
    async (clientId: string, { viewer }: { viewer?: true }) => {
      const { url, expiresAt } = await withDatabase((database, environment) =>
        makeOperatorLink(database, personHere(), baseUrlIn(environment), clientId, viewer ? 'viewer' : 'editor'),
      );
      const expires_at = expiresAt.toISOString();
      return {
        json: { url, expires_at },
        text: [
          {
            fields: [
              ['url', url],
              ['expires_at', expires_at],
            ],
          },
          'The link works once; send it to one person of the client through a secure channel.',
        ],
      };
    },
  );
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
