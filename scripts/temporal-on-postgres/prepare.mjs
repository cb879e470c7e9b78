// Runs in the program `temporal` of start.mjs before Temporal's server starts. It makes the server's databases as
// copies of those that have the schema, and its configuration, whose folder it prints. A later start finds both.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { dynamicConfiguration, serverConfiguration } from './configuration.mjs';

const [postgresUrl = '', ...args] = process.argv.slice(2);
const text = { type: 'string' };
const { values } = parseArgs({
  args,
  options: { port: text, namespace: text, 'db-filename': text },
  // The other options apply to the dev server only.
  strict: false,
});
const port = Number(values.port);
// The databases belong to the state of the stack, the configuration to the port, which changes at each restart.
const state = dirname(values['db-filename']);
const folder = join(state, `server-${port}`);
const suffix = createHash('sha256').update(state).digest('hex').slice(0, 12);

if (!existsSync(join(folder, 'server.yaml'))) {
  mkdirSync(folder, { recursive: true });
  const databases = { main: `temporal_${suffix}`, visibility: `temporal_visibility_${suffix}` };
  await copyDatabase('temporal', databases.main);
  await copyDatabase('temporal_visibility', databases.visibility);
  const dynamic = join(folder, 'dynamic.yaml');
  writeFileSync(
    dynamic,
    // As in the dev server, a new search attribute is known at once.
    dynamicConfiguration({ 'system.forceSearchAttributesCacheRefreshOnRead': [{ value: true }] }),
  );
  writeFileSync(
    join(folder, 'server.yaml'),
    JSON.stringify(await serverConfiguration({ port, postgresUrl, databases, dynamic })),
  );
}
// The dev server creates the namespace in its options.
const register = fileURLToPath(new URL('./register.mjs', import.meta.url));
spawn(process.execPath, [register, `127.0.0.1:${port}`, values.namespace], {
  detached: true,
  stdio: 'ignore',
}).unref();
process.stdout.write(folder);

async function copyDatabase(from, to) {
  await onDatabase('postgres', `create database ${to} template ${from}`).catch((error) => {
    // An earlier start made the databases.
    if (error.code !== '42P04') throw error;
  });
  await onDatabase(to, `update schema_version set db_name = '${to}'`);
}

async function onDatabase(name, statement) {
  const url = new URL(postgresUrl);
  url.pathname = `/${name}`;
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  await client.query(statement).finally(() => client.end());
}
