import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CLIENT_SCOPES } from '../../auth/caller.js';
import type { Compressed } from '../response.js';
import type { Described, OpenApiDocument } from './document.js';
import { DIST, html, plainBody, style } from './page.js';

/** Scalar's script, compressed by scripts/copy-explorer.mjs: 1.0 MB in brotli, 1.3 MB in gzip. */
export function explorerFiles(): Compressed {
  return {
    br: readFileSync(join(DIST, 'explorer/scalar.js.br')),
    gzip: readFileSync(join(DIST, 'explorer/scalar.js.gz')),
  };
}

/**
 * `/docs`: the API explorer (Scalar). A reader without script sees the plain page at the same address. The addresses are
 * relative, because a proxy may serve the API under a path.
 */
export function explorerPage(document: OpenApiDocument): string {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${document.info.title}</title><noscript><style>${style}</style></noscript>
<link rel="icon" href="data:,"><script src="docs/explorer.js" defer></script><script src="docs/scalar.js" defer></script></head>
<body><noscript>${plainBody(document)}</noscript><div id="explorer"></div></body></html>
`.text;
}

/**
 * The script that starts the explorer. It holds the OpenAPI document, so that the page fetches nothing before a reader
 * sends a request. A load of Scalar that fails leads to the plain page. The first line keeps Scalar's copy of zod from trying `eval`, which the policy refuses.
 */
export function explorerScript(document: OpenApiDocument, described: Described): string {
  return `globalThis.__zod_globalConfig = { jitless: true };
addEventListener('DOMContentLoaded', () => {
  if (!globalThis.Scalar) location.replace('docs/plain' + location.hash);
  else Scalar.createApiReference('#explorer', ${JSON.stringify(configuration(document, described))});
});
`;
}

/** Scalar's configuration: nothing leaves the page but the requests that a reader sends to this API. */
function configuration(document: OpenApiDocument, { environment, baseUrl }: Described) {
  const { info } = document;
  const more = [
    '[Guide](docs/guide)',
    '[Plain page](docs/plain)',
    '[Problem codes](docs/plain#problems)',
    '[OpenAPI 3.1](openapi.json)',
  ].join(' · ');
  const shown = {
    ...document,
    info: { ...info, description: `${info.description}\n\n${more}` },
    components: withClientScopes(document.components),
  };
  return {
    content: JSON.parse(JSON.stringify(shown), (_, value) => (isOptional(value) ? unticked(value) : value)),
    hideTestRequestButton: environment !== 'sandbox',
    authentication: {
      preferredSecurityScheme: 'oauth2',
      securitySchemes: {
        oauth2: {
          flows: {
            clientCredentials: {
              'x-scalar-security-body': { audience: baseUrl },
              'x-scalar-credentials-location': 'body',
            },
          },
        },
      },
    },
    persistAuth: false,
    telemetry: false,
    withDefaultFonts: false,
    hideClientButton: true,
    showDeveloperTools: 'never',
    agent: { disabled: true },
    mcp: { disabled: true },
    documentDownloadType: 'json',
    theme: 'none',
  };
}

/** No client has the scope `operator` beside others: with it, a token request for all scopes would be an error. */
function withClientScopes({ securitySchemes, ...components }: OpenApiDocument['components']) {
  const { clientCredentials } = securitySchemes.oauth2.flows;
  const scopes = Object.fromEntries(CLIENT_SCOPES.map((scope) => [scope, clientCredentials.scopes[scope]]));
  const flows = { clientCredentials: { ...clientCredentials, scopes } };
  return { ...components, securitySchemes: { oauth2: { ...securitySchemes.oauth2, flows } } };
}

interface OptionalParameter {
  in: 'query' | 'header';
  example?: unknown;
  schema: { examples?: unknown[] };
}

function isOptional(value: unknown): value is OptionalParameter {
  const { in: where, required, schema } = (value ?? {}) as Record<string, unknown>;
  return (where === 'query' || where === 'header') && !required && schema instanceof Object;
}

/**
 * Scalar sends every parameter that has an example or a list of values. A first request would then ask for one day and one
 * status, and each POST would repeat the key of the one before, unless the reader unticked them.
 */
function unticked({ example, ...parameter }: OptionalParameter) {
  const value = example ?? parameter.schema.examples?.[0] ?? '';
  return { ...parameter, examples: { default: { value, 'x-disabled': true } } };
}

/**
 * The policy of `/docs`. Styles need 'unsafe-inline': Scalar and its editor write style elements and attributes while
 * they run, with texts that depend on what is open, so that no list of hashes holds them. A request may go to the paths of the API, and never to the console, whose cookie it would carry.
 * In production no request is sent from here at all.
 */
export function explorerPolicy(document: OpenApiDocument, { environment, baseUrl, authUrl }: Described): string {
  const sources = new Set<string>();
  for (const [path, operations] of Object.entries(document.paths)) {
    const [, first = '', ...rest] = path.split('/');
    if (first.startsWith('console')) continue;
    const host = Object.values(operations).some(({ servers }) => servers !== undefined) ? authUrl : baseUrl;
    sources.add(`${host}/${first}${rest.length > 0 ? '/' : ''}`);
  }
  const connect = environment === 'sandbox' ? [...sources].sort().join(' ') : "'none'";
  return [
    "default-src 'none'",
    "script-src 'self'",
    `connect-src ${connect}`,
    "style-src 'unsafe-inline'",
    'img-src data:',
    "frame-src 'none'",
    "frame-ancestors 'none'",
    "form-action 'none'",
    "base-uri 'none'",
  ].join('; ');
}
