import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { type Setting, settings } from '../../src/platform/config/settings.js';
import { pasteFaults } from '../support/shell.js';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const { stdout } = spawnSync('git', ['ls-files', '*.md'], { cwd: root, encoding: 'utf8' });
const documents = stdout
  .trim()
  .split('\n')
  .filter((path) => existsSync(join(root, path)));

/** The blocks of a document that a reader pastes into a shell. */
const shellBlocks = (text: string) =>
  [...text.matchAll(/^( *)```(?:sh|bash|zsh|shell|console)\n(.*?)^\1```/gms)].map(([, , code = '']) => code);

describe.each(documents)('%s', (document) => {
  const text = read(document);

  test('has commands that zsh takes as bash does', () => {
    expect(shellBlocks(text).flatMap(pasteFaults)).toEqual([]);
  });

  test('names ports of this machine on which something listens', () => {
    const own = [...Object.values<Setting>(settings).map(({ byDefault }) => byDefault), '4318'];
    const published = [...read('docker-compose.yml').matchAll(/:(\d+):\d+"/g)].map(([, port]) => port);
    const opened = [...text.matchAll(/(?:--port |listen\(\D*)(\d+)/g)].map(([, port]) => port);
    const named = [...text.matchAll(/(?:localhost|127\.0\.0\.1|\[::1\]):(\d+)/g)].map(([, port]) => port);
    expect(named.filter((port) => ![...own, ...published, ...opened].includes(port))).toEqual([]);
  });

  test('names hosts for examples, or of this machine', () => {
    const hosts = shellBlocks(text).flatMap((code) => [...code.matchAll(/\w+:\/\/(?:[^/\s"'@]*@)?([\w.-]+)/g)]);
    const examples = /^(localhost|127\.0\.0\.1|HOST|([\w-]+\.)*(example\.com|internal))$/;
    expect(hosts.flatMap(([, host = '']) => (examples.test(host) ? [] : [host]))).toEqual([]);
  });

  test('names files of this repository that exist', () => {
    const paths = shellBlocks(text).flatMap((code) =>
      [...code.matchAll(/(?<![\w./-])(?:deploy|docs|dist|scripts|examples|clients|prisma)\/[\w./-]+/g)].map(String),
    );
    const source = (path: string) => path.replace(/^dist\/(.*)\.js$/, '$1.ts');
    expect(paths.filter((path) => !existsSync(join(root, source(path))))).toEqual([]);
  });

  test('names paths that the API has', () => {
    const api = [...read('clients/typescript/src/generated/openapi.ts').matchAll(/"path": "(\/[^"]*)"/g)];
    const known = api.map(([, path = '']) => new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`));
    const named = shellBlocks(text).flatMap((code) =>
      [...code.matchAll(/\$(?:BASE_URL|AUTH_URL)(\/[^"'?\s]*)|post "?(\/[^"\s]*)/g)].map(
        ([, one, other]) => one ?? other,
      ),
    );
    expect(named.filter((path) => !known.some((pattern) => pattern.test(path ?? '')))).toEqual([]);
  });
});
