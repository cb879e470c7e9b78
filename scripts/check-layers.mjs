// Part of `npm run check`: a file imports from its own folder and from the layers below it, type imports included. Its
// comments fit in 120 columns and name only files that exist. Biome finds cycles within a folder. An argument selects
// another checkout.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from '@swc/core';

/** The layers from top to bottom. Folders of one layer do not import each other, except that `a → b` lets a import b. */
const LAYERS = [
  'src/main.ts src/api.ts src/worker.ts src/cli.ts',
  'src/cli → src/http src/console → src/http',
  'src/local',
  'src/process',
  'activities',
  'src/transfers src/checks src/recoveries src/notifications → src/reports',
  'src/delivery',
  'src/endpoints src/delivery/sender',
  'src/auth',
  'src/temporal → workflows',
  'src/platform',
  'clients/typescript/src',
];
/** Folders that production or `--help` must not load: only these importers may load them, and only with `import()`. */
const ON_DEMAND = { 'src/local': ['src/main.ts', 'src/cli'], 'src/cli/commands': ['src/cli/program.ts'] };
const GENERATED = 'src/platform/database/generated';

const folders = LAYERS.flatMap((layer) => layer.split(/ (?:→ )?/));
const isIn = (file, folder) => file === folder || file.startsWith(`${folder}/`);
const folderOf = (file) => folders.filter((folder) => isIn(file, folder)).sort((a, b) => b.length - a.length)[0];
const layerOf = (folder) => LAYERS.findIndex((layer) => layer.split(/ (?:→ )?/).includes(folder));

/** @returns {Map<string, { to: string, kind: 'static' | 'dynamic' | 'type' }[]>} the imports of each of our own files */
function readGraph(root) {
  const files = ['src', 'activities', 'workflows', 'clients/typescript/src']
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true }).map((name) => posix.join(folder, `${name}`)),
    )
    .filter((file) => /\.tsx?$/.test(file) && !file.startsWith(GENERATED));
  const known = new Set(files);
  const resolve = (from, specifier) => {
    const path = posix.join(posix.dirname(from), specifier);
    return [path, path.replace(/\.js$/, '.ts'), path.replace(/\.js$/, '.tsx')].filter((each) => known.has(each));
  };
  return new Map(
    files.map((file) => [
      file,
      importsOf(readFileSync(join(root, file), 'utf8'), file)
        .filter(({ specifier }) => specifier.startsWith('.'))
        .flatMap(({ specifier, kind }) => resolve(file, specifier).map((to) => ({ to, kind }))),
    ]),
  );
}

/** Every import and re-export of a module. */
function importsOf(source, file) {
  const found = [];
  const visit = (node) => {
    if (node === null || typeof node !== 'object') return;
    const { type } = node;
    const isTypeOnly =
      node.typeOnly || (node.specifiers?.length > 0 && node.specifiers.every((each) => each.isTypeOnly));
    if (/^(Import|ExportNamed|ExportAll)Declaration$/.test(type) && node.source)
      found.push({ specifier: node.source.value, kind: isTypeOnly ? 'type' : 'static' });
    else if (type === 'TsImportType') found.push({ specifier: node.argument.value, kind: 'type' });
    else if (type === 'CallExpression' && node.callee.type === 'Import')
      found.push({ specifier: `${node.arguments[0].expression.value}`, kind: 'dynamic' });
    for (const part of Object.values(node)) visit(part);
  };
  visit(parseSync(source, { syntax: 'typescript', tsx: file.endsWith('x') }).body);
  return found;
}

function faultOf(from, to, kind) {
  const [own, target] = [folderOf(from), folderOf(to)];
  for (const [folder, importers] of Object.entries(ON_DEMAND)) {
    if (!isIn(to, folder) || isIn(from, folder) || kind === 'type') continue;
    if (!importers.some((importer) => isIn(from, importer)))
      return `only ${importers.join(' and ')} may load ${folder}`;
    if (kind !== 'dynamic') return `load ${folder} with import()`;
  }
  if (!own || !target || own === target || layerOf(own) < layerOf(target)) return undefined;
  if (layerOf(own) > layerOf(target)) return `${own} is below ${target}`;
  const isEntry = layerOf(own) === 0;
  return isEntry || LAYERS[layerOf(own)].includes(`${own} → ${target}`) ? undefined : `${own} is beside ${target}`;
}

/** Folders whose files comments may name. */
const NAMED = ['src', 'activities', 'workflows', 'clients', 'bench', 'scripts', 'test', 'docs', 'prisma', 'deploy'];
const COMMENT = /^\s*(?:\/\/|\/?\*)(.*)/;

/** @returns {string[]} the missing files that the comments of a file name, backslashes before backticks, wide comments */
function commentFaults(root, file, names) {
  const lines = readFileSync(join(root, file), 'utf8').split('\n');
  return lines.flatMap((line, i) => {
    const text = COMMENT.exec(line)?.[1] ?? '';
    const missing = (text.match(/[\w./-]+\.(?:tsx?|mjs|sql|sh|md)\b/g) ?? []).filter(
      (name) => !names.has(posix.basename(name)),
    );
    const escaped = text.includes('\\`') ? ['an escaped backtick'] : [];
    const wide = text && line.length > 120 && !file.includes('/generated/') ? ['more than 120 columns'] : [];
    return [...missing.map((name) => `the missing file ${name}`), ...escaped, ...wide].map(
      (what) => `${file}:${i + 1}: the comment has ${what}`,
    );
  });
}

const root = process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url));
const names = new Set([
  ...readdirSync(root),
  ...NAMED.filter((folder) => existsSync(join(root, folder))).flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((name) => posix.basename(`${name}`)),
  ),
]);
const graph = readGraph(root);
const faults = [...graph].flatMap(([from, imports]) => [
  ...commentFaults(root, from, names),
  ...(folderOf(from) ? [] : [`${from} is in no layer; add its folder to scripts/check-layers.mjs`]),
  ...imports.flatMap(({ to, kind }) => faultOf(from, to, kind)?.replace(/^/, `${from} imports ${to}: `) ?? []),
]);
for (const fault of faults) process.stderr.write(`${fault}\n`);
process.stdout.write(`${graph.size} files, ${faults.length} faults\n`);
process.exitCode = faults.length === 0 ? 0 : 1;
