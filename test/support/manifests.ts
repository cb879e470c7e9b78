import { readdirSync, readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { healthRouter } from '../../src/http/routes/health.js';
import { runCli } from './cli.js';

export const KUBERNETES = 'deploy/kubernetes';

// biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever the file says
export type Document = any;

/** The documents of a YAML file, merge keys (`<<`) resolved. */
export function readYaml(path: string): Document[] {
  return parseAllDocuments(readFileSync(path, 'utf8'), { merge: true }).map((document) => {
    for (const error of document.errors) throw error;
    return document.toJS();
  });
}

/** `KEY=value` lines. */
export function readEnvFile(path: string): Record<string, string> {
  const lines = readFileSync(path, 'utf8').matchAll(/^([A-Z_]+)=(.*)$/gm);
  return Object.fromEntries([...lines].map(([, name, value]) => [name, value]));
}

/** Files of the folder itself, `.yaml` alone. */
export const yamlFiles = (folder: string) => readdirSync(folder).filter((name) => name.endsWith('.yaml'));

let commands: Promise<string[]> | undefined;

/** What the command line can be told to do. */
export function readCommands(): Promise<string[]> {
  commands ??= runCli(['--help']).then(({ stdout }) =>
    [...stdout.slice(stdout.indexOf('Commands:')).matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = '']) => name),
  );
  return commands;
}

/** Whether a process answers there when it is asked for its health. */
export function isHealthPath(path: string): boolean {
  const readiness = () => Promise.reject(new Error('is not asked'));
  return healthRouter({ baseUrl: '', readiness }).match(path, 'GET').route;
}
