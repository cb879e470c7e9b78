import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Config } from '../../platform/config/config.js';

/** The folder that `npm run build` makes, also where the sources run untranslated, as in tests. */
export const DIST = join(dirname(createRequire(import.meta.url).resolve('transfer-service/package.json')), 'dist');

/** Light or dark as in the reader's system settings. */
const STYLE = `
:root{color-scheme:light dark;background:Canvas;--line:color-mix(in srgb,currentColor 18%,transparent);--soft:color-mix(in srgb,currentColor 6%,transparent)}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1.5rem}
h1,h2,h3,h4{line-height:1.2;margin:1.5em 0 .5em}
h2{border-bottom:1px solid var(--line);padding-bottom:.3em}
nav{display:flex;flex-wrap:wrap;gap:.3rem 1rem;margin:.5rem 0}
p{margin:.4em 0}
code,pre{font:.9em/1.45 ui-monospace,monospace}
pre{background:var(--soft);padding:.8rem;overflow-x:auto;border-radius:.3rem}
code{overflow-wrap:anywhere}
pre code{overflow-wrap:normal}
table{border-collapse:collapse;width:100%;margin:.8em 0}
th,td{border-top:1px solid var(--line);padding:.3rem .6rem .3rem 0;vertical-align:top;text-align:left}
@media(max-width:40rem){table,tbody,tr,td{display:block}thead{display:none}td{border:0;padding:.1rem 0;overflow-wrap:anywhere}tr{border-top:1px solid var(--line);padding:.4rem 0}}
:target{background:var(--soft)}
`;

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** The page loads no resource; the only allowed style sheet is the inline one with this hash. */
export const guidePolicy = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/**
 * `/docs/guide`: guide, reference and errors of `docs`, which scripts/render-guide.mjs renders; a page without script.
 */
export function guidePage(): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Guide – Transfer Service</title><style>${STYLE}</style></head>
<body><header><a href="../docs">API explorer</a> · <a href="../openapi.json">OpenAPI 3.1</a> · <a href="../console">Console</a></header>${readFileSync(join(DIST, 'guide.html'), 'utf8')}</body></html>
`;
}

/** `/docs/guide.md`: the same documents as Markdown. */
export const guideMarkdown = () => readFileSync(join(DIST, 'guide.md'), 'utf8');

/** `/llms.txt` (llmstxt.org): what a program that reads this service's documents should read. */
export const llmsText = ({ environment, baseUrl }: Pick<Config, 'environment' | 'baseUrl'>) => `# Transfer Service

> An HTTP API that moves transfers and POSTs a signed webhook for each change of their status. This deployment is the ${environment} environment.

Clients authenticate with OAuth 2.0 Client Credentials. Receivers verify \`Service-Signature\` over the raw body and discard duplicates by the event's \`id\`.

## Docs

- [Guide](${baseUrl}/docs/guide.md): an integration step by step, the reference, and all errors, as Markdown
- [OpenAPI 3.1](${baseUrl}/openapi.json): every operation, field and webhook
- [Signature vectors](${baseUrl}/docs/signature-vectors.json): signed deliveries and forgeries that test a verifier
- [Metadata](${baseUrl}/meta): environment, version, retry schedule and egress addresses

## Optional

- [Guide as a page](${baseUrl}/docs/guide)
- [API explorer](${baseUrl}/docs)
`;

/** What `/` links to, by the paths of the API. */
export const LINKS = {
  guide: ['/docs/guide', 'Guide'],
  docs: ['/docs', 'API explorer'],
  openapi: ['/openapi.json', 'OpenAPI 3.1'],
  console: ['/console', 'Console'],
  meta: ['/meta', 'Metadata of this environment'],
  health: ['/readyz', 'Readiness'],
} as const;

/** `/`, for who opens BASE_URL in a browser. */
export function indexPage({ environment, baseUrl }: Pick<Config, 'environment' | 'baseUrl'>): string {
  const links = Object.values(LINKS).map(([path, title]) => `<li><a href="${baseUrl}${path}">${title}</a></li>`);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Transfer Service</title><style>${STYLE}</style></head>
<body><h1>Transfer Service: ${environment}</h1><ul>${links.join('')}</ul></body></html>
`;
}

/** `/docs/signature-vectors.json`: clients/vectors/signatures.json, with which an integrator tests a verifier. */
export const signatureVectors = () => readFileSync(join(DIST, 'signature-vectors.json'), 'utf8');
