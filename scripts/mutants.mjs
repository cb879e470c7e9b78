// Breaks each rule of the delivery core once (scripts/mutants.json), in a copy, and shows that a test finds it:
// `node scripts/mutants.mjs [name]`, after `npm run build`. MUTANT_SECONDS (60) is the time of each. A mutant that
// survives, or that no longer applies, makes the exit code 1.
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const mutants = JSON.parse(readFileSync(join(root, 'scripts/mutants.json'), 'utf8'));
const seconds = Number(process.env.MUTANT_SECONDS ?? 60);
const folder = mkdtempSync(join(tmpdir(), 'transfer-service-mutants-'));
const parts = ['src', 'test', 'workflows', 'activities', 'clients', 'prisma', 'package.json', 'jest.config.js'];
for (const part of parts) cpSync(join(root, part), join(folder, part), { recursive: true });
symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));

const { default: base } = await import('../jest.config.js');
const { globalSetup: _setUp, globalTeardown: _tearDown, ...project } = base.projects.at(-1);
const testMatch = ['<rootDir>/test/**/*.test.ts'];
const config = { ...project, rootDir: folder, testMatch, testTimeout: (seconds + 240) * 1_000, forceExit: true };
writeFileSync(join(folder, 'mutants.json'), JSON.stringify(config));
const postgres = process.env.TEST_DATABASE_URL ? undefined : await startPostgres();

const missed = [];
for (const { name, file, search, replace, test } of mutants.filter((one) => one.name.includes(process.argv[2] ?? ''))) {
  const target = join(folder, file);
  const text = readFileSync(target, 'utf8');
  const times = text.split(search).length - 1;
  if (times !== 1) {
    missed.push(name);
    process.stdout.write(`does not apply (${times} times): ${name}\n`);
    continue;
  }
  writeFileSync(
    target,
    text.replace(search, () => replace),
  );
  const since = performance.now();
  const found = await fails(test);
  writeFileSync(target, text);
  const took = ((performance.now() - since) / 1_000).toFixed(0);
  process.stdout.write(`${file}: ${name}: ${found ? `${test} fails, ${found}` : 'SURVIVES'}, ${took} s\n`);
  if (!found) missed.push(name);
}
await postgres?.stop();
rmSync(folder, { recursive: true });
if (missed.length > 0) process.stdout.write(`not found: ${missed.join('; ')}\n`);
process.exit(missed.length > 0 ? 1 : 0);

/** Runs a test file, until its first failure. @returns when it failed; undefined: it passed */
function fails(file) {
  return new Promise((resolve) => {
    const jest = join(root, 'node_modules/jest/bin/jest.js');
    const env = { ...process.env, MODEL_SECONDS: String(seconds) };
    const child = spawn(process.execPath, [jest, '-c', 'mutants.json', file], { cwd: folder, env });
    let said = '';
    child.stderr.on('data', (bytes) => {
      said += bytes;
      const model = /fails after: (.*)\n/.exec(said);
      if (model) end(model[1]);
    });
    child.on('exit', (code) => end(code === 0 ? undefined : 'in the end'));
    function end(found) {
      child.kill('SIGKILL');
      resolve(found);
    }
  });
}

async function startPostgres() {
  const { startPostgres: start } = await import('../dist/src/local/postgres.js');
  const { postgresUrl } = await import('../dist/src/local/stack-state.js');
  const { freePort } = await import('../dist/src/platform/free-port.js');
  const { Secret } = await import('../dist/src/platform/secret.js');
  const [port, password] = [await freePort(), new Secret('test')];
  const settings = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_connections=100'];
  const nothing = () => {};
  const localDir = join(folder, 'postgres');
  mkdirSync(localDir);
  const child = await start({ localDir, port, password, settings, onStart: nothing, progress: nothing });
  process.env.TEST_DATABASE_URL = postgresUrl(port, password).reveal();
  return child;
}
