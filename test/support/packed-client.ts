import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '../..');

export interface PackedClient {
  /** The project into which the tarball is installed. */
  folder: string;
  tarball: string;
  /** The size of the tarball, in bytes. */
  size: number;
  /** The paths in the tarball. */
  files: string[];
  remove(): void;
}

/** Packs clients/typescript, which the run has built, and installs the tarball into an empty project. */
export function installPackedClient(): PackedClient {
  const folder = mkdtempSync(join(tmpdir(), 'packed-client-'));
  const npm = (args: string[], cwd: string) => execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: 'pipe' });
  const [packed] = JSON.parse(
    npm(['pack', '--ignore-scripts', '--json', '--pack-destination', folder], join(root, 'clients/typescript')),
  ) as { filename: string; size: number; files: { path: string }[] }[];
  if (!packed) throw new Error('npm packed nothing');
  writeFileSync(join(folder, 'package.json'), '{ "name": "empty", "private": true, "type": "module" }');
  const tarball = join(folder, packed.filename);
  npm(['install', '--offline', '--no-audit', '--no-fund', tarball], folder);
  return {
    folder,
    tarball,
    size: packed.size,
    files: packed.files.map(({ path }) => path),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Makes an installed package, by default one of this repository, available to a project. */
export function linkPackage(folder: string, name: string, path = join(root, 'node_modules', name)): void {
  const target = join(folder, 'node_modules', name);
  mkdirSync(dirname(target), { recursive: true });
  symlinkSync(path, target);
}
