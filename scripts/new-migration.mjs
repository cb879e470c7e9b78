// `npm run migration -- NAME`: writes a migration with the changes of prisma/schema.prisma since the commit that last
// changed the migrations. It needs no download, but a running Postgres, which it does not change: the embedded stack's
// (npm start), or DATABASE_URL. `npx prisma migrate dev` does the same if its engine is available.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NO_FILTERS, prismaFolder } from '../dist/src/database/migrate.js';
import { withSchemaEngine } from '../dist/src/database/schema-engine.js';
import { findStack } from '../dist/src/local/find-stack.js';
import { Secret } from '../dist/src/secret.js';

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
const asTarget = (content) => ({ tag: 'schemaDatamodel', files: [{ path: 'schema.prisma', content }] });

const { stdout } = await withSchemaEngine(new Secret(findStack(process.env).DATABASE_URL), after, (engine) =>
  engine.diff({
    from: asTarget(before),
    to: asTarget(after),
    script: true,
    exitCode: null,
    filters: NO_FILTERS,
    shadowDatabaseUrl: null,
  }),
);
if (!/^(?!--)./m.test(stdout ?? '')) {
  console.log('the schema has no changes for the database');
} else {
  const stamp = new Date().toISOString().replace(/\D/g, '').slice(0, 14);
  const path = join(folder, 'migrations', `${stamp}_${name}`);
  mkdirSync(path);
  writeFileSync(join(path, 'migration.sql'), stdout);
  console.log(`${join(path, 'migration.sql')}: read it, then apply it with \`npm run cli -- migrate\``);
}
