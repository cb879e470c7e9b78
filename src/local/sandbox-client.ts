import { join } from 'node:path';
import { z } from 'zod';
import { checkCredentials, readClientRecord } from '../auth/client-record.js';
import { createClient, rotateSecret } from '../auth/clients.js';
import { personHere } from '../platform/audit.js';
import { type Handle, readClock } from '../platform/database/database.js';
import { Refusal } from '../platform/refusal.js';
import { Secret } from '../platform/secret.js';
import type { Stack } from './stack.js';
import { readPrivateJson, writePrivateJson } from './stack-state.js';

const credentials = z.object({ client_id: z.string(), client_secret: z.string() });
const form = credentials.extend({ operator: credentials });
type Credentials = z.infer<typeof credentials>;

/**
 * Makes the sandbox's client and the operator's client, and writes them with the current addresses to
 * `LOCAL_DIR/sandbox-client.json` (0600). Credentials that still work are kept.
 * @returns the file's path
 */
export async function writeSandboxClient(db: Handle, { localDir, env, temporalUiUrl }: Stack): Promise<string> {
  const path = join(localDir, 'sandbox-client.json');
  const before = read(path);
  writePrivateJson(path, {
    auth_url: env.AUTH_URL,
    base_url: env.BASE_URL,
    ...(await credentialsFor(db, before, { name: 'Sandbox client' })),
    operator: await credentialsFor(db, before?.operator, { name: 'Sandbox operator', scopes: ['operator'] }),
    temporal_address: env.TEMPORAL_ADDRESS,
    temporal_namespace: env.TEMPORAL_NAMESPACE,
    temporal_ui_url: temporalUiUrl,
    database_url: env.DATABASE_URL,
  });
  return path;
}

/** The file of an earlier run; undefined if there is none or if it is damaged. */
function read(path: string): z.infer<typeof form> | undefined {
  try {
    return form.parse(readPrivateJson(path));
  } catch {
    return undefined;
  }
}

/** The known credentials if they work, a new secret of their client, or, if it is revoked or gone, a new client. */
async function credentialsFor(
  db: Handle,
  known: Credentials | undefined,
  made: { name: string; scopes?: string[] },
): Promise<Credentials> {
  if (known) {
    const { client_id, client_secret } = known;
    const find = (id: string) => readClientRecord(db, id);
    const works = await checkCredentials(find, client_id, new Secret(client_secret), await readClock(db));
    if (works) return { client_id, client_secret };
    // Its secret was revoked or has expired: its endpoints and transfers are the client's.
    const renewed = await rotateSecret(db, personHere(), client_id).catch((error: unknown) => {
      if (!(error instanceof Refusal)) throw error;
    });
    if (renewed) return { client_id, client_secret: renewed.clientSecret.reveal() };
  }
  const { client, clientSecret } = await createClient(db, personHere(), made);
  return { client_id: client.id, client_secret: clientSecret.reveal() };
}
