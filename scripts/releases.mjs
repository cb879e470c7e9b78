// The releases in the table of docs/releases/README.md.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** @returns the rows, oldest first; `commit` is undefined until the release is final */
export function readReleases(root = '.') {
  const text = readFileSync(join(root, 'docs/releases/README.md'), 'utf8');
  return [...text.matchAll(/^\| \[(.+?)\]\(.*\) \| (\d{4}-\d\d-\d\d) \| `?([0-9a-f]{40})?`? ?\|$/gm)].map(
    ([, version, date, commit]) => ({ version, date, commit }),
  );
}
