import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { parseSync } from '@swc/core';
import { FOLDERS, GENERATED } from './rooms.mjs';

/**
 * The import graph of the project's own files, type imports included.
 * @param {string} root the project's folder
 * @returns {Map<string, { to: string, kind: 'static' | 'dynamic' | 'type' }[]>} by file, as paths from `root`
 */
export function readGraph(root) {
  const files = FOLDERS.filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true }).map((name) => posix.join(folder, String(name))),
    )
    .filter((file) => /\.tsx?$/.test(file) && !file.startsWith(GENERATED));
  const known = new Set(files);
  return new Map(
    files.map((file) => {
      const imports = importsOf(readFileSync(join(root, file), 'utf8'), file);
      return [
        file,
        imports.flatMap(({ specifier, kind }) => resolve(file, specifier, known).map((to) => ({ to, kind }))),
      ];
    }),
  );
}

/** Resolves relative specifiers only: the project has no path aliases. `./x.js` names `x.ts` or `x.tsx`. */
function resolve(file, specifier, known) {
  if (!specifier.startsWith('.')) return [];
  const path = posix.join(posix.dirname(file), specifier);
  return [path, path.replace(/\.js$/, '.ts'), path.replace(/\.js$/, '.tsx')].filter((candidate) =>
    known.has(candidate),
  );
}

/** @returns {{ specifier: string, kind: 'static' | 'dynamic' | 'type' }[]} every import and re-export of a module */
export function importsOf(source, file) {
  const found = [];
  const add = (specifier, kind) => found.push({ specifier, kind });
  const visit = (node) => {
    if (Array.isArray(node)) {
      for (const part of node) visit(part);
      return;
    }
    if (node === null || typeof node !== 'object') return;
    if (node.type === 'ImportDeclaration') add(node.source.value, isTypeOnly(node) ? 'type' : 'static');
    else if (node.type === 'ExportNamedDeclaration' && node.source)
      add(node.source.value, node.typeOnly ? 'type' : 'static');
    else if (node.type === 'ExportAllDeclaration') add(node.source.value, node.typeOnly ? 'type' : 'static');
    else if (node.type === 'TsImportType') add(node.argument.value, 'type');
    else if (node.type === 'CallExpression' && node.callee.type === 'Import') {
      const target = node.arguments[0]?.expression;
      if (target?.type === 'StringLiteral') add(target.value, 'dynamic');
    }
    for (const part of Object.values(node)) visit(part);
  };
  visit(parseSync(source, { syntax: 'typescript', tsx: file.endsWith('x') }).body);
  return found;
}

function isTypeOnly({ typeOnly, specifiers }) {
  return typeOnly || (specifiers.length > 0 && specifiers.every((specifier) => specifier.isTypeOnly));
}
