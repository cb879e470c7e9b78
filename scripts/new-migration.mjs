// `npm run migration -- NAME`: writes a migration with the changes of prisma/schema.prisma since the commit that last
// changed the migrations. It needs no download, but a running Postgres, which it does not change: the embedded stack's
// (npm start), or DATABASE_URL. `npx prisma migrate dev` does the same if its engine is available.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findStack } from '../dist/src/local/stack-state.js';
import { prismaFolder } from '../dist/src/platform/database/migrate.js';
import { Secret } from '../dist/src/platform/secret.js';
import { breaking } from './check-migrations.mjs';
import { schemaChanges } from './schema-engine.mjs';

const [name] = process.argv.slice(2);
if (!/^[a-z0-9_]+$/.test(name ?? '')) {
  console.error('npm run migration -- NAME: NAME consists of a-z, 0-9 and _');
  process.exit(2);
}
const folder = prismaFolder();
const git = (...args) => execFileSync('git', args, { cwd: folder, encoding: 'utf8' }).trim();
const since = git('log', '-1', '--format=%H', '--', 'migrations');
const before = git('show', `${since}:./schema.prisma`);
const after = readFileSync(join(folder, 'schema.prisma'), 'utf8');

const sql = await schemaChanges(new Secret(findStack(process.env).DATABASE_URL), before, after);
if (!/^(?!--)./m.test(sql)) {
  console.log('the schema has no changes for the database');
} else {
  const stamp = new Date().toISOString().replace(/\D/g, '').slice(0, 14);
  const path = join(folder, 'migrations', `${stamp}_${name}`);
  mkdirSync(path);
  writeFileSync(join(path, 'migration.sql'), sql);
  // `npm run check` rejects them.
  for (const fault of breaking(sql)) console.error(fault);
  console.log(`${join(path, 'migration.sql')}: read it, then apply it with \`npm run cli -- migrate\``);
}
