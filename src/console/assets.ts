import { readFileSync } from 'node:fs';
import Router from '@koa/router';
import type { State } from '../http/state.js';
import { staticDocument } from '../http/static-document.js';

/** The path under which the files of `assets/` are served. */
const ASSETS_PATH = '/console/assets/';

const TYPES: Readonly<Record<string, string>> = {
  'console.css': 'text/css',
  'live.js': 'text/javascript',
  'icon.svg': 'image/svg+xml',
};

export const isAsset = (path: string) =>
  path.startsWith(ASSETS_PATH) && Object.hasOwn(TYPES, path.slice(ASSETS_PATH.length));

/** The style sheet, the script and the icon. A browser asks each time whether its copy is current. */
export function assetsRouter(): Router<State> {
  const router = new Router<State>({ strict: true, sensitive: true });
  for (const [name, type] of Object.entries(TYPES)) {
    const text = readFileSync(new URL(`./assets/${name}`, import.meta.url), 'utf8');
    router.get(`${ASSETS_PATH}${name}`, staticDocument(type, text, { 'Cache-Control': 'no-cache' }));
  }
  return router;
}
