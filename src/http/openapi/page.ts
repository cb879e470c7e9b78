import { PROBLEMS } from '../problem.js';
import type { OpenApiDocument } from './document.js';
import type { JsonSchema } from './example.js';
import { type Field, fieldsOf, meaningOf, typeOf } from './fields.js';
import { type Html, html, prose } from './html.js';
import { style, styleHash } from './style.js';

interface Media {
  schema: JsonSchema;
  example?: unknown;
}

interface Described {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  parameters?: { name?: string; in: string; description?: string; schema: JsonSchema }[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, { description: string; content?: Record<string, Media> }>;
}

/** The page loads no resource; the only allowed style sheet is the inline one with this hash. */
export const plainPolicy = `default-src 'none'; style-src '${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** `/docs/plain`: the OpenAPI document as a web page without script. */
export function plainPage(document: OpenApiDocument): string {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${document.info.title}</title><style>${style}</style></head>
<body>${plainBody(document)}</body></html>
`.text;
}

/** What the plain page shows. Problem types (`/docs/plain#invalid_request`) link to its table of codes. */
export function plainBody(document: OpenApiDocument): Html {
  const { info, paths, components, tags } = document;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      path,
      method,
      operation: operation as unknown as Described,
    })),
  );
  const sections = tags.map(({ name, description }) => {
    const own = operations.filter(({ operation }) => operation.tags.includes(name));
    return html`<section id="${slug(name)}"><h2>${name}</h2>${prose(description)}${own.map((one) => describe(one, components.schemas))}</section>`;
  });
  const links = tags.map(({ name }) => html`<a href="#${slug(name)}">${name}</a> `);
  return html`<header><h1>${info.title}</h1>${prose(`${info.summary}. Machine-readable: \`/openapi.json\`.`)}${prose(info.description)}
<nav>${links}<a href="#problems">Problem codes</a></nav></header>
<main>${sections}${problems()}</main>`;
}

function describe(
  { path, method, operation }: { path: string; method: string; operation: Described },
  schemas: Record<string, JsonSchema>,
): Html {
  const parameters = (operation.parameters ?? []).flatMap(({ name, in: where, description, schema }) =>
    name === undefined
      ? []
      : [
          {
            name,
            type: typeOf(schema, schemas),
            required: where === 'path',
            meaning: [description, meaningOf(schema)].filter(Boolean).join(' '),
          },
        ],
  );
  const [body] = Object.values(operation.requestBody?.content ?? {});
  const responses = Object.entries(operation.responses).map(([status, { description, content = {} }]) => {
    const [media] = Object.values(content);
    const example =
      status.startsWith('2') && media?.example !== undefined ? html`<pre>${pretty(media.example)}</pre>` : undefined;
    return html`<li><b>${status}</b> ${prose(description)}${example}</li>`;
  });
  return html`<article id="${operation.operationId}"><h3>${operation.summary}</h3>
<p class="call"><b>${method.toUpperCase()}</b> <code>${path}</code></p>${prose(operation.description ?? '')}
${table('Parameters', parameters)}${body && table('Body', fieldsOf(body.schema, schemas))}
${body?.example !== undefined ? html`<pre>${pretty(body.example)}</pre>` : undefined}<ul>${responses}</ul></article>`;
}

function table(title: string, fields: readonly Field[]): Html | undefined {
  if (fields.length === 0) return undefined;
  const rows = fields.map(
    ({ name, type, required, meaning }) =>
      html`<tr><td><code>${name}</code>${required ? html` <i>required</i>` : undefined}</td><td>${type}</td><td>${prose(meaning)}</td></tr>`,
  );
  return html`<h4>${title}</h4><table>${rows}</table>`;
}

function problems(): Html {
  const rows = Object.entries(PROBLEMS).map(
    ([code, { status, otherStatuses, title, meaning }]) =>
      html`<tr id="${code}"><td><code>${code}</code></td><td>${[status, ...otherStatuses].join(', ')}</td><td><b>${title}</b> ${prose(meaning)}</td></tr>`,
  );
  return html`<section id="problems"><h2>Problem codes</h2>${prose('Errors are `application/problem+json` (RFC 9457). `code` is stable.')}<table>${rows}</table></section>`;
}

function pretty(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

function slug(name: string): string {
  return name.toLowerCase().replace(/\W+/g, '-');
}
