import { execFileSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, statfsSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A disk of 64 MiB (tmpfs, for root only) for one folder of the embedded Postgres. */
export function makeSmallDisk() {
  const disk = mkdtempSync(join(tmpdir(), 'small-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'none', disk]);
  return {
    /** Moves a folder of Postgres's data to this disk. Call it while Postgres is stopped. */
    take(localDir, name) {
      const folder = join(realpathSync(join(localDir, 'postgres')), 'data', name);
      execFileSync('cp', ['-a', folder, disk]);
      rmSync(folder, { recursive: true });
      symlinkSync(join(disk, name), folder);
    },
    /** Fills the rest of the disk with a file. */
    fill() {
      const { bavail, bsize } = statfsSync(disk);
      if (bavail > 0) execFileSync('fallocate', ['-l', String(bavail * bsize), join(disk, `ballast-${Date.now()}`)]);
    },
    /** Enlarges the disk. */
    grow: () => execFileSync('mount', ['-o', 'remount,size=512m', disk]),
    remove() {
      execFileSync('umount', ['-l', disk]);
      rmSync(disk, { recursive: true });
    },
  };
}
