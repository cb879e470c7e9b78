import { join } from 'node:path';
import { z } from 'zod';
import { checkCredentials, readClientRecord } from '../auth/client-record.js';
import { createClient } from '../auth/clients.js';
import { personHere } from '../platform/audit.js';
import type { Handle } from '../platform/database/database.js';
import { Secret } from '../platform/secret.js';
import type { Stack } from './stack.js';
import { readPrivateJson, writePrivateJson } from './stack-state.js';

const credentials = z.object({ client_id: z.string(), client_secret: z.string() });
const form = credentials.extend({ operator: credentials });
type Credentials = z.infer<typeof credentials>;

/**
 * Makes the sandbox's client and the operator's client, and writes them with the current addresses to
 * `LOCAL_DIR/sandbox-client.json` (0600; contract, last section). Credentials that still work are kept.
 * @returns the file's path, and whether a client is new
 */
export async function writeSandboxClient(db: Handle, stack: Stack): Promise<{ path: string; made: boolean }> {
  const path = join(stack.localDir, 'sandbox-client.json');
  const before = read(path);
  const client = await keep(db, before);
  const operator = await keep(db, before?.operator);
  const { env } = stack;
  const document = {
    auth_url: env.AUTH_URL,
    base_url: env.BASE_URL,
    ...(client ?? (await make(db, 'Sandbox client'))),
    operator: operator ?? (await make(db, 'Sandbox operator', ['operator'])),
    temporal_address: env.TEMPORAL_ADDRESS,
    temporal_namespace: env.TEMPORAL_NAMESPACE,
    temporal_ui_url: stack.temporalUiUrl,
    database_url: env.DATABASE_URL,
  };
  writePrivateJson(path, document);
  return { path, made: !client || !operator };
}

/** The file of an earlier run; undefined if there is none or if it is damaged. */
function read(path: string): z.infer<typeof form> | undefined {
  try {
    return form.parse(readPrivateJson(path));
  } catch {
    return undefined;
  }
}

async function keep(db: Handle, known: Credentials | undefined): Promise<Credentials | undefined> {
  if (!known) return undefined;
  const { client_id, client_secret } = known;
  const works = await checkCredentials(
    (id) => readClientRecord(db, id),
    client_id,
    new Secret(client_secret),
    Date.now(),
  );
  return works && { client_id, client_secret };
}

async function make(db: Handle, name: string, scopes?: string[]): Promise<Credentials> {
  const { client, clientSecret } = await createClient(db, personHere(), { name, scopes });
  return { client_id: client.id, client_secret: clientSecret.reveal() };
}
