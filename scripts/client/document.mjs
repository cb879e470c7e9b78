// The part of the OpenAPI document that becomes the types of clients/typescript.
import { createHash } from 'node:crypto';
import { loadConfig } from '../../dist/src/platform/config/config.js';
// A schema registers itself when its module is loaded, and the application loads all of them.
import '../../dist/src/http/app.js';
import { apiRoutes } from '../../dist/src/http/app.js';
import { openApiDocument } from '../../dist/src/http/openapi/document.js';

/** A sandbox has every operation. The routes are declared and never called, so nothing listens at these addresses. */
const CONFIG = {
  ENVIRONMENT: 'sandbox',
  BASE_URL: 'https://api.example.com',
  DATABASE_URL: 'postgresql://localhost/none',
  TEMPORAL_ADDRESS: 'localhost:1',
  MASTER_KEY: Buffer.from('0123456789abcdefghijklmnopqrstuv').toString('base64'),
};

/** The document without what types do not show: examples, errors, servers and texts about the whole API. */
export function clientDocument() {
  const config = loadConfig(CONFIG);
  const { paths, components } = openApiDocument(apiRoutes({ config }), config);
  return withoutExamples({
    openapi: '3.1.0',
    info: { title: 'Transfer Service', version: '1' },
    paths: Object.fromEntries(
      Object.entries(paths).map(([path, methods]) => [
        path,
        Object.fromEntries(Object.entries(methods).map(([method, operation]) => [method, essence(operation)])),
      ]),
    ),
    components: { schemas: Object.fromEntries(Object.entries(components.schemas).sort(byName)) },
  });
}

/** Identifies the document in the generated file. */
export function digestOf(document) {
  return createHash('sha256').update(JSON.stringify(document)).digest('hex');
}

function essence({ operationId, summary, description, security, servers, parameters = [], requestBody, responses }) {
  const succeeds = Object.entries(responses).filter(([status]) => status.startsWith('2'));
  return {
    operationId,
    summary,
    ...(description && { description }),
    ...(security && { security }),
    ...(servers && { servers }),
    // The client itself sends the only header.
    ...(parameters.some(({ $ref }) => $ref?.endsWith('/IdempotencyKey')) && { 'x-keyed': true }),
    parameters: parameters.filter((parameter) => parameter.in === 'path' || parameter.in === 'query'),
    ...(requestBody && { requestBody: { ...requestBody, content: jsonOf(requestBody.content) } }),
    responses: Object.fromEntries(
      succeeds.map(([status, response]) => [
        status,
        { description: response.description, ...(response.content && { content: response.content }) },
      ]),
    ),
  };
}

/** Sorts the schemas, which register in the order in which modules load. */
const byName = ([a], [b]) => (a < b ? -1 : 1);

const jsonOf = (content) => ({ 'application/json': content['application/json'] });

function withoutExamples(node) {
  if (Array.isArray(node)) return node.map(withoutExamples);
  if (typeof node !== 'object' || node === null) return node;
  // The comment of a type is the description beside `anyOf`.
  const { description } = node.anyOf?.[0] ?? {};
  return Object.fromEntries(
    Object.entries({ ...(description && { description }), ...node })
      .filter(([name, value]) => name !== 'example' && !(name === 'examples' && Array.isArray(value)))
      .map(([name, value]) => [name, withoutExamples(value)]),
  );
}
