// Builds dist/ and the client's package: `npm run build`, and before the tests. Does nothing if no input has changed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const stamp = join(root, 'dist/.built');
const COMPILER = 'node_modules/typescript/bin/tsc';
const PROJECTS = ['tsconfig.build.json', 'clients/typescript', 'clients/typescript/tsconfig.cjs.json'];
const SCRIPTS = ['copy-assets', 'copy-explorer', 'render-guide', 'bundle-workflows'];
const INPUTS = [
  '{src,workflows,activities,bench,test/crash,test/support,clients/typescript/src,clients/vectors,scripts,docs}/**/*',
  '{.,clients/typescript}/{tsconfig*,package}.json',
  'package-lock.json',
];
const OUTPUTS = ['dist/src/cli.js', 'dist/workflow-bundle.js', 'clients/typescript/dist', 'clients/typescript/cjs'];

/** @returns {Promise<boolean>} whether everything compiled; with type errors the code is there, and they are printed */
export async function build() {
  const inputs = await digest();
  const isBuilt =
    existsSync(stamp) &&
    readFileSync(stamp, 'utf8') === inputs &&
    OUTPUTS.every((path) => existsSync(join(root, path)));
  const compiled = isBuilt || compile();
  if (compiled) writeFileSync(stamp, inputs);
  // `npm ci` removes the link and leaves dist/.
  run('scripts/link-command.mjs');
  return compiled;
}

function compile() {
  rmSync(stamp, { force: true });
  let compiled = true;
  for (const project of PROJECTS) {
    const { status, stdout } = spawnSync(process.execPath, [COMPILER, '-p', project], { cwd: root, encoding: 'utf8' });
    process.stderr.write(stdout);
    compiled &&= status === 0;
  }
  for (const name of SCRIPTS) run(`scripts/${name}.mjs`);
  return compiled;
}

function run(script) {
  const { status, stderr } = spawnSync(process.execPath, [script], { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${script} has failed: ${stderr}`);
}

async function digest() {
  const hash = createHash('sha256').update(process.version);
  const paths = [];
  for await (const path of glob(INPUTS, { cwd: root })) paths.push(path);
  for (const path of paths.sort()) {
    if (statSync(join(root, path)).isFile())
      hash
        .update(path)
        .update('\0')
        .update(readFileSync(join(root, path)));
  }
  return hash.digest('hex');
}

if (process.argv[1] === import.meta.filename && !(await build())) process.exit(1);
