import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endLeftovers } from '../../src/local/stack-state.js';

/**
 * A LOCAL_DIR that does not exist yet. Its parent is a new folder that every user can traverse, since Postgres does not
 * run as root.
 */
export function makeLocalDir(name = 'local'): { path: string; remove(): Promise<void> } {
  const folder = mkdtempSync(join(tmpdir(), 'local-'));
  chmodSync(folder, 0o711);
  const path = join(folder, name);
  return {
    path,
    async remove() {
      await endLeftovers(path, () => {});
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
