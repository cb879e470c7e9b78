import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { PROBLEMS } from '../../platform/refusal.js';
import type { OpenApiDocument } from './document.js';
import type { JsonSchema } from './json-schema.js';
import { resolve } from './schemas.js';

/** The folder that `npm run build` makes, also where the sources run untranslated, as in tests. */
export const DIST = join(dirname(createRequire(import.meta.url).resolve('transfer-service/package.json')), 'dist');

/** HTML that is safe in a page: only the template tag below makes it. */
class Html {
  constructor(readonly text: string) {}
}

type Part = Html | string | number | undefined | readonly Html[];

/** A template whose values are escaped unless they are `Html`. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.reduce((all, text, i) => all + write(parts[i - 1]) + text));
}

/** Text with `code` between backticks and paragraphs at blank lines, as our descriptions use Markdown. */
function prose(text: string): Html {
  const paragraphs = text.split(/\n\n+/).map((paragraph) => {
    const parts = paragraph
      .split(/`([^`]+)`/)
      .map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
    return html`<p>${parts}</p>`;
  });
  return html`${paragraphs}`;
}

function write(part: Part): string {
  if (part === undefined) return '';
  if (part instanceof Html) return part.text;
  if (Array.isArray(part)) return part.map(({ text }: Html) => text).join('');
  return String(part)
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/"/g, '&quot;')
    .replace(/'/g, '&#39;');
}

/** The style sheet of the plain page; light or dark as in the reader's system settings. */
export const style = `
:root{color-scheme:light dark;background:Canvas;--line:color-mix(in srgb,currentColor 18%,transparent);--soft:color-mix(in srgb,currentColor 6%,transparent)}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1.5rem}
h1,h2,h3,h4{line-height:1.2;margin:1.5em 0 .5em}
h2{border-bottom:1px solid var(--line);padding-bottom:.3em}
nav{display:flex;flex-wrap:wrap;gap:.3rem 1rem;margin:.5rem 0}
p{margin:.4em 0}
article{padding:.2rem 1rem 1rem;margin:1rem 0;border:1px solid var(--line);border-radius:.5rem}
.call b{display:inline-block;min-width:4.5rem}
code,pre{font:.9em/1.45 ui-monospace,monospace}
pre{background:var(--soft);padding:.8rem;overflow-x:auto;border-radius:.3rem}
code{overflow-wrap:anywhere}
pre code{overflow-wrap:normal}
table{border-collapse:collapse;width:100%;margin:.8em 0}
th,td{border-top:1px solid var(--line);padding:.3rem .6rem .3rem 0;vertical-align:top;text-align:left}
td p,li p{margin:0;display:inline}
i{opacity:.7;font-size:.85em}
@media(max-width:40rem){table,tbody,tr,td{display:block}thead{display:none}td{border:0;padding:.1rem 0;overflow-wrap:anywhere}tr{border-top:1px solid var(--line);padding:.4rem 0}}
:target{background:var(--soft)}
`;

/** The source that allows an inline style sheet in a Content-Security-Policy. */
export const sourceOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** One row of a table of fields. */
interface Field {
  name: string;
  type: string;
  required: boolean;
  meaning: string;
}

/** The fields of an object and of its nested objects, by dotted name. */
function fieldsOf(given: JsonSchema, schemas: Record<string, JsonSchema>, prefix = ''): Field[] {
  const schema = resolve(given, schemas);
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const own = resolve(field, schemas);
    const full = prefix + name;
    const inner = own.type === 'array' ? own.items : own;
    const row = {
      name: full,
      type: typeOf(field, schemas),
      required: schema.required?.includes(name) ?? false,
      meaning: meaningOf(own),
    };
    return [row, ...(inner ? fieldsOf(inner, schemas, `${full}${own.type === 'array' ? '[]' : ''}.`) : [])];
  });
}

function typeOf(given: JsonSchema, schemas: Record<string, JsonSchema>): string {
  const schema = resolve(given, schemas);
  if (schema.anyOf) return schema.anyOf.map((one) => typeOf(one, schemas)).join(' or ');
  const type = Array.isArray(schema.type) ? schema.type.join(' or ') : (schema.type ?? 'any');
  return schema.format ? `${type} (${schema.format})` : type;
}

function meaningOf(schema: JsonSchema): string {
  const { description, enum: values, minimum, maximum, minLength, maxLength, maxProperties } = schema;
  const limits = [
    values && `One of ${values.map((value) => `\`${value}\``).join(', ')}.`,
    range(minimum, maximum, ''),
    range(minLength, maxLength, ' characters'),
    maxProperties !== undefined && `At most ${maxProperties}.`,
    schema.default !== undefined && schema.default !== null && `Default \`${JSON.stringify(schema.default)}\`.`,
  ];
  return [description, ...limits].filter(Boolean).join(' ');
}

function range(least: number | undefined, most: number | undefined, unit: string): string | undefined {
  if (most !== undefined && most >= Number.MAX_SAFE_INTEGER) return range(least, undefined, unit);
  if (least !== undefined && most !== undefined) return `${least} to ${most}${unit}.`;
  if (most !== undefined) return `At most ${most}${unit}.`;
  return least !== undefined && Number.isFinite(least) && least > Number.MIN_SAFE_INTEGER
    ? `At least ${least}${unit}.`
    : undefined;
}

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
export const plainPolicy = `default-src 'none'; style-src ${sourceOf(style)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** A web page without script. */
function page(title: string, body: Html): string {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title><style>${style}</style></head>
<body>${body}</body></html>
`.text;
}

/** `/docs/plain`: the OpenAPI document as a web page without script. */
export function plainPage(document: OpenApiDocument): string {
  return page(document.info.title, plainBody(document));
}

/** `/docs/guide`: guide, reference and errors of `docs`, which scripts/render-guide.mjs renders. */
export function guidePage({ info }: OpenApiDocument): string {
  const rendered = new Html(readFileSync(join(DIST, 'guide.html'), 'utf8'));
  const others = html`<header><a href="../docs">API explorer</a> · <a href="../console">Console</a></header>`;
  return page(`Guide – ${info.title}`, html`${others}${rendered}`);
}

/** `/docs/signature-vectors.json`: clients/vectors/signatures.json, with which an integrator tests a verifier. */
export function signatureVectors(): object {
  return JSON.parse(readFileSync(join(DIST, 'signature-vectors.json'), 'utf8'));
}

/** What the plain page shows. Problem types (`/docs/plain#invalid_request`) link to its table of codes. */
export function plainBody(document: OpenApiDocument): Html {
  const { info, externalDocs, paths, webhooks, components, tags } = document;
  const operations = Object.entries({ ...paths, ...webhooks }).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, unknown>).map(([method, operation]) => ({
      path,
      method,
      operation: operation as Described,
    })),
  );
  const sections = tags.map(({ name, description }) => {
    const own = operations.filter(({ operation }) => operation.tags.includes(name));
    return html`<section id="${slug(name)}"><h2>${name}</h2>${prose(description)}${own.map((one) => describe(one, components.schemas))}</section>`;
  });
  const links = tags.map(({ name }) => html`<a href="#${slug(name)}">${name}</a> `);
  return html`<header><h1>${info.title}</h1>${prose(`${info.summary}. Machine-readable: \`/openapi.json\`.`)}${prose(info.description)}
<nav><a href="${externalDocs.url}">${externalDocs.description}</a> ${links}<a href="#problems">Problem codes</a></nav></header>
<main>${sections}${problems()}</main>`;
}

function describe(
  { path, method, operation }: { path: string; method: string; operation: Described },
  schemas: Record<string, JsonSchema>,
): Html {
  const parameters = (operation.parameters ?? []).flatMap(({ name, in: where, description, schema }) => {
    // The one without a name is a reference to the `Idempotency-Key`.
    if (name === undefined) return [];
    const meaning = [description, meaningOf(schema)].filter(Boolean).join(' ');
    return { name, type: typeOf(schema, schemas), required: where === 'path', meaning };
  });
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
