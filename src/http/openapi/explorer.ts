import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CLIENT_SCOPES } from '../../auth/caller.js';
import type { Described, OpenApiDocument } from './document.js';
import { DIST } from './guide.js';

/** A file of Swagger UI, compressed with gzip by scripts/copy-explorer.mjs. */
export const explorerFile = (name: string) => readFileSync(join(DIST, `explorer/${name}.gz`));

/**
 * `/docs`: the API explorer (Swagger UI). The addresses are relative, because a proxy may serve the API under a path.
 */
export function explorerPage(document: OpenApiDocument): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${document.info.title}</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="docs/swagger-ui.css"><script src="docs/explorer.js" defer></script><script src="docs/swagger-ui.js" defer></script></head>
<body><noscript>The explorer needs JavaScript. The <a href="docs/guide">guide</a> and the <a href="openapi.json">OpenAPI document</a> do not.</noscript><div id="explorer"></div></body></html>
`;
}

/**
 * The script that starts the explorer. It holds the OpenAPI document, so that the page fetches nothing before a reader
 * sends a request. If Swagger UI does not load, the reader gets the guide.
 */
export function explorerScript(document: OpenApiDocument, { environment }: Described): string {
  const isSandbox = environment === 'sandbox';
  const settings = {
    spec: document,
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    persistAuthorization: false,
    supportedSubmitMethods: isSandbox ? ['get', 'post', 'put', 'patch', 'delete'] : [],
    tryItOutEnabled: isSandbox,
  };
  return `const none = () => () => null;
const dark = matchMedia('(prefers-color-scheme: dark)');
const showTheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', showTheme);
showTheme();
addEventListener('DOMContentLoaded', () => {
  if (!globalThis.SwaggerUIBundle) return location.replace('docs/guide');
  const ui = SwaggerUIBundle({
    ...${JSON.stringify(settings)},
    domNode: document.querySelector('#explorer'),
    plugins: [{ wrapComponents: ${isSandbox ? '{}' : '{ authorizeBtn: none, authorizeOperationBtn: none }'} }],
  });
  ui.initOAuth({ scopes: ${JSON.stringify(CLIENT_SCOPES)} });
});
`;
}

/**
 * The policy of `/docs`. A request may go to the paths of the API, and never to the console, whose cookie it would
 * carry; `/` as a source would allow every path. In production the page sends no request.
 */
export function explorerPolicy(document: OpenApiDocument, { environment, baseUrl, authUrl }: Described): string {
  const sources = Object.entries(document.paths)
    .filter(([path]) => path !== '/' && !path.startsWith('/console'))
    .map(([path, { get, post }]) => `${(get ?? post)?.servers ? authUrl : baseUrl}${path.replace(/{.*/, '')}`);
  const connect = environment === 'sandbox' ? [...new Set(sources)].join(' ') : "'none'";
  return [
    "default-src 'none'",
    "script-src 'self'",
    `connect-src ${connect}`,
    "style-src 'self'",
    'img-src data:',
    "frame-src 'none'",
    "frame-ancestors 'none'",
    "form-action 'none'",
    "base-uri 'none'",
  ].join('; ');
}
