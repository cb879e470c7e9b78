import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endLeftovers } from '../../src/local/stack-state.js';

/** A LOCAL_DIR that is not there yet, in a folder of its own that others may pass through (Postgres does not run as root). */
export function makeLocalDir(): { path: string; remove(): Promise<void> } {
  const folder = mkdtempSync(join(tmpdir(), 'local-'));
  chmodSync(folder, 0o711);
  const path = join(folder, 'local');
  return {
    path,
    async remove() {
      await endLeftovers(path, () => {});
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
