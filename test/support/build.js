import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installTooling } from '../../scripts/client/tooling.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
let built = false;

/**
 * Runs before all tests. It installs clients/tooling and builds dist/, from which tests start real processes. This is
 * JavaScript, since Jest loads it without a transform.
 */
export default function build() {
  if (built) return;
  built = true;
  installTooling();
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  for (const project of ['tsconfig.build.json', 'clients/typescript', 'clients/typescript/tsconfig.cjs.json']) {
    const { stdout } = spawnSync(process.execPath, [compiler, '-p', project], { cwd: root, encoding: 'utf8' });
    // Type errors do not stop the run: `npm run check` reports them, and the tests run the emitted code.
    if (stdout) process.stderr.write(stdout);
  }
  for (const script of ['copy-assets', 'copy-explorer', 'render-guide', 'bundle-workflows', 'link-command']) {
    const { status, stderr } = spawnSync(process.execPath, [`scripts/${script}.mjs`], { cwd: root, encoding: 'utf8' });
    if (status !== 0) throw new Error(`scripts/${script}.mjs has failed: ${stderr}`);
  }
}
