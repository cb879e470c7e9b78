import { execFile } from 'node:child_process';
import { delimiter } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const SCRIPT = fileURLToPath(new URL('../../deploy/temporal-schema.sh', import.meta.url));

/** Creates Temporal's databases or upgrades their schema, with the script that docker-compose.yml also runs. */
export async function applySchema({ tools, schema }, postgresUrl) {
  const { hostname, port, username, password } = new URL(postgresUrl);
  await promisify(execFile)('sh', [SCRIPT], {
    env: {
      PATH: `${tools}${delimiter}${process.env.PATH}`,
      ...{ SQL_PLUGIN: 'postgres12', SQL_HOST: hostname, SQL_PORT: port, SQL_USER: username, SQL_PASSWORD: password },
      SCHEMA_DIR: schema,
    },
  });
}
