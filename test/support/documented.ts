import { expect } from '@jest/globals';
import { apiRoutes } from '../../src/http/app.js';
import type { AppDependencies } from '../../src/http/context.js';
import { type OpenApiDocument, openApiDocument } from '../../src/http/openapi/document.js';
import { openApiValidator, schemaOf } from './openapi.js';

export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads bodies of any shape
  body: any;
}

type Described = OpenApiDocument['paths'][string][string];

/**
 * Makes the check that every response of a test API is one that the OpenAPI document describes: its status, its body,
 * and the code of a problem. What the document does not have, such as another method or the console, is not checked.
 */
export function documented(dependencies: AppDependencies): (method: string, path: string, reply: Reply) => void {
  const { environment } = dependencies.config;
  const { errorsOf, patterns } = made.get(environment) ?? describe(dependencies);
  made.set(environment, { errorsOf, patterns });
  return (method, path, { status, headers, body }) => {
    const [pathname = ''] = path.split('?');
    const operation = patterns.find(({ form }) => form.test(pathname))?.methods[method.toLowerCase()];
    if (!operation) return;
    const type = headers.get('content-type');
    const schema = schemaOf(operation, status, type, `${method} ${path} ${status} ${body?.code ?? ''}`);
    if (schema && body !== undefined)
      expect([method, path, status, errorsOf(schema, body)]).toEqual([method, path, status, null]);
    if (type === 'application/problem+json') expect(codesOf(operation, status)).toContain(body.code);
  };
}

/** What is made of the document is the same for each API of an environment, and kept while modules of test/ are not. */
const made: Map<string, ReturnType<typeof describe>> = (globalThis as never)[Symbol.for('documents')] ?? new Map();
Object.assign(globalThis, { [Symbol.for('documents')]: made });

function describe(dependencies: AppDependencies) {
  const document = openApiDocument(apiRoutes(dependencies), dependencies.config);
  const patterns = Object.entries(document.paths).map(([path, methods]) => ({
    form: new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
    methods,
  }));
  return { errorsOf: openApiValidator(document), patterns };
}

/** The codes that an operation names for a status, or any for a path that names none. */
function codesOf(operation: Described, status: number): string[] {
  const responses = operation.responses as Record<string, { description: string }>;
  return [...(responses[status]?.description ?? '').matchAll(/`([a-z_]+)`/g)].map(([, code = '']) => code);
}
