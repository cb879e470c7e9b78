import { readFile } from 'node:fs/promises';
import type { ClientOptions } from '../settings.js';
import { type Given, UsageError } from './command.js';
import { fileText, NO_TEXT } from './file-text.js';

/** The options of every command that calls the API. */
export const CREDENTIALS = { credentials: { type: 'string' } } as const;

export const CREDENTIALS_HELP = `  --credentials FILE   JSON with base_url, client_id, client_secret and, if it differs, auth_url
                       (\`npm start\` of the service writes .local/sandbox-client.json)
                       default: the variables TRANSFER_SERVICE_BASE_URL, TRANSFER_SERVICE_CLIENT_ID,
                       TRANSFER_SERVICE_CLIENT_SECRET and TRANSFER_SERVICE_AUTH_URL`;

/** The credentials from the file or the environment; never from an argument, which other users of the machine see. */
export async function readCredentials({ values, env }: Pick<Given, 'values' | 'env'>): Promise<ClientOptions> {
  const path = values.credentials;
  const given = typeof path === 'string' ? await readJson(path) : fromEnvironment(env);
  const where = typeof path === 'string' ? path : 'the environment';
  const text = (name: string, variable: string): string => {
    const value = given[name];
    if (typeof value === 'string' && value !== '') return value;
    throw new UsageError(
      typeof path === 'string' ? `${path} has no ${name}` : `give --credentials FILE, or set ${variable}`,
    );
  };
  const authUrl = given.auth_url;
  if (authUrl !== undefined && typeof authUrl !== 'string')
    throw new UsageError(`auth_url of ${where} is not a string`);
  return {
    baseUrl: text('base_url', 'TRANSFER_SERVICE_BASE_URL'),
    clientId: text('client_id', 'TRANSFER_SERVICE_CLIENT_ID'),
    clientSecret: text('client_secret', 'TRANSFER_SERVICE_CLIENT_SECRET'),
    ...(authUrl && { authUrl }),
  };
}

function fromEnvironment(env: NodeJS.ProcessEnv): Record<string, unknown> {
  return {
    base_url: env.TRANSFER_SERVICE_BASE_URL,
    auth_url: env.TRANSFER_SERVICE_AUTH_URL || undefined,
    client_id: env.TRANSFER_SERVICE_CLIENT_ID,
    client_secret: env.TRANSFER_SERVICE_CLIENT_SECRET,
  };
}

async function readJson(path: string): Promise<Record<string, unknown>> {
  const text = fileText(await readFile(path));
  if (text === undefined) throw new UsageError(`${path} ${NO_TEXT}`);
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // The parser's message would show a part of the file, which contains a secret.
  }
  throw new UsageError(`${path} is not a JSON object`);
}
