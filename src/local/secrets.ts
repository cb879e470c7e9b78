import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { Secret } from '../secret.js';
import { readPrivateFile, writePrivateFile } from './private-file.js';

/** The secrets that the embedded stack makes at its first start. */
export interface LocalSecrets {
  postgresPassword: Secret;
  /** 32 bytes in base64, like `MASTER_KEY`. */
  masterKey: Secret;
}

const form = z.object({ postgres_password: z.string().min(1), master_key: z.string().min(1) });
const FILE = 'secrets.json';

/** The secrets in `LOCAL_DIR/secrets.json` (0600); undefined before the first start. */
export function readSecrets(localDir: string): LocalSecrets | undefined {
  const text = readPrivateFile(join(localDir, FILE));
  if (text === undefined) return undefined;
  const { postgres_password, master_key } = form.parse(JSON.parse(text));
  return { postgresPassword: new Secret(postgres_password), masterKey: new Secret(master_key) };
}

export function makeSecrets(localDir: string): LocalSecrets {
  const secrets = {
    postgresPassword: new Secret(randomBytes(24).toString('hex')),
    masterKey: new Secret(randomBytes(32).toString('base64')),
  };
  writePrivateFile(
    join(localDir, FILE),
    `${JSON.stringify({ postgres_password: secrets.postgresPassword.reveal(), master_key: secrets.masterKey.reveal() }, null, 2)}\n`,
  );
  return secrets;
}
