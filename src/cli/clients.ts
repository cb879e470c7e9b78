import { InvalidArgumentError } from 'commander';
import { SCOPES } from '../auth/caller.js';
import { isNetwork } from '../platform/networks.js';
import { ENDPOINT_LIMITS, RATE_LIMITS } from '../platform/vocabulary.js';
import { type Command, parseTime, wholeNumber } from './command.js';

/** `clients …`: the clients of the API and their secrets. */
export function addClients(program: Command): void {
  const clients = program.command('clients').description('manage the clients that may call the API');

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
    .does(async () => (await import('./actions/clients.js')).create);

  clients
    .command('list')
    .description('list all clients, including revoked clients')
    .does(async () => (await import('./actions/clients.js')).list);

  clients
    .command('show <client_id>')
    .description('show a client and the ids of its secrets')
    .does(async () => (await import('./actions/clients.js')).show);

  clients
    .command('rotate-secret <client_id>')
    .description('add a secret and print it once; the old one stays valid, and a client has two at most')
    .option(
      '--expire-old <duration>',
      'expire the old secrets after this time, such as 24h (default: never)',
      parseTime,
    )
    .option('--revoke <secret_id>', 'revoke this secret now; required where the client already has two')
    .does(async () => (await import('./actions/clients.js')).rotateSecret);

  clients
    .command('revoke <client_id>')
    .description('revoke a client and its tokens; effective within 5 s')
    .does(async () => (await import('./actions/clients.js')).revoke);

  clients
    .command('revoke-secret <client_id> <secret_id>')
    .description('revoke a secret and the tokens issued with it; effective within 5 s')
    .does(async () => (await import('./actions/clients.js')).revokeSecret);

  clients
    .command('allow <client_id>')
    .argument('[cidr...]', 'if omitted, the client may call from any network', parseNetworks)
    .description('replace the list of networks that a client may call from')
    .does(async () => (await import('./actions/clients.js')).allow);

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
    .does(async () => (await import('./actions/clients.js')).setLimits);

  clients
    .command('erase <client_id>')
    .description('erase names and accounts of a revoked client; needs the DATABASE_URL of the owner')
    .option('--yes', 'do not ask')
    .does(async () => (await import('./actions/clients.js')).erase);

  clients
    .command('console-link <client_id>')
    .option('--viewer', 'the session changes nothing')
    .description('make a sign-in link of the console for a client; it works once and for 5 minutes')
    .does(async () => (await import('./actions/clients.js')).consoleLink);
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
