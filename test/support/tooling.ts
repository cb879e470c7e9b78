import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const tooling = join(import.meta.dirname, '../../clients/tooling');

/** A file of clients/tooling/node_modules, which the setup of the tests has installed. */
export const toolPath = (path: string) => join(tooling, 'node_modules', path);

/** A module of the tools. It has no types here, because `npm run check` also runs where the tools are not installed. */
// biome-ignore lint/suspicious/noExplicitAny: see above
export async function importTool(name: string): Promise<any> {
  return import(pathToFileURL(createRequire(join(tooling, 'package.json')).resolve(name)).href);
}
