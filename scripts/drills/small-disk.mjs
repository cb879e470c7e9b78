import { execFileSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, statfsSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A disk of 64 MiB (tmpfs, for root only) for one folder of the embedded Postgres. */
export function makeSmallDisk() {
  const place = mkdtempSync(join(tmpdir(), 'small-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'none', place]);
  return {
    /** Moves a folder of Postgres's data here, to be called while Postgres is stopped. */
    take(localDir, name) {
      const folder = join(realpathSync(join(localDir, 'postgres')), 'data', name);
      execFileSync('cp', ['-a', folder, place]);
      rmSync(folder, { recursive: true });
      symlinkSync(join(place, name), folder);
    },
    /** Somebody else's file takes all that is left. */
    fill() {
      const { bavail, bsize } = statfsSync(place);
      if (bavail > 0) execFileSync('fallocate', ['-l', String(bavail * bsize), join(place, `ballast-${Date.now()}`)]);
    },
    /** Room again. */
    grow: () => execFileSync('mount', ['-o', 'remount,size=512m', place]),
    remove() {
      execFileSync('umount', ['-l', place]);
      rmSync(place, { recursive: true });
    },
  };
}
