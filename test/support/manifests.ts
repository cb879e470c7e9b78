import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { runCli } from './cli.js';

// biome-ignore lint/suspicious/noExplicitAny: a test reads documents of any shape
export type Document = any;

/** The documents of a YAML file, with resolved merge keys (`<<`). */
export function readYaml(path: string): Document[] {
  return parseAllDocuments(readFileSync(path, 'utf8'), { merge: true }).map((document) => {
    for (const error of document.errors) throw error;
    return document.toJS();
  });
}

/** The `KEY=value` lines of a file. */
export function readEnvFile(path: string): Record<string, string> {
  const lines = readFileSync(path, 'utf8').matchAll(/^([A-Z_]+)=(.*)$/gm);
  return Object.fromEntries([...lines].map(([, name, value]) => [name, value]));
}

let commands: Promise<string[]> | undefined;

/** The commands that `--help` lists. */
export function readCommands(): Promise<string[]> {
  commands ??= runCli(['--help']).then(({ stdout }) =>
    [...stdout.slice(stdout.indexOf('Commands:')).matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = '']) => name),
  );
  return commands;
}
