import { z } from 'zod';
import { EXAMPLE_ID } from '../../platform/ids.js';
import { PROBLEMS } from '../../platform/refusal.js';
import { components, view } from '../schemas/fields.js';
import { MAX_ERRORS } from '../validation-errors.js';
import { forGenerators, type JsonSchema } from './json-schema.js';

const problemError = view('ProblemError', {
  pointer: z.optional(z.string()).meta({ description: 'A JSON Pointer (RFC 6901) into the body.', examples: ['/url'] }),
  parameter: z.optional(z.string()).meta({ description: 'The name of a query parameter.', examples: ['limit'] }),
  code: z.string().meta({ examples: ['required'] }),
  detail: z.string().meta({ examples: ['is required'] }),
});

/** The body of every error response of the API (RFC 9457). */
const problemView = view('Problem', {
  type: z.string().meta({ format: 'uri', examples: ['https://api.example.com/docs/guide#invalid_request'] }),
  title: z.string().meta({ examples: ['Invalid request'] }),
  status: z
    .int()
    .min(400)
    .max(599)
    .meta({ examples: [422] }),
  detail: z.string().meta({ examples: ['The body is invalid; see errors.'] }),
  instance: z.string().meta({ format: 'uri-reference', examples: ['/webhook-endpoints'] }),
  code: z
    .enum(Object.keys(PROBLEMS))
    .meta({ description: 'Stable: branch on this code.', examples: ['invalid_request'] }),
  request_id: z.string().meta({ description: 'The value of `X-Request-Id`.', examples: [EXAMPLE_ID] }),
  errors: z
    .array(problemError)
    .max(MAX_ERRORS)
    .optional()
    .meta({
      description: `At most ${MAX_ERRORS} entries. A name of more than 128 characters is cut.`,
      examples: [[{ pointer: '/url', code: 'required', detail: 'is required' }]],
    }),
});

const check = z.string().meta({ examples: ['unreachable'] });

const readinessChecks = view('ReadinessChecks', { postgres: check, migrations: check, temporal: check });

export const readyView = view('Readiness', {
  status: z.string().meta({ examples: ['ready'] }),
  checks: readinessChecks.optional(),
});

/** The body of `/readyz` while the process cannot serve requests. */
export const notReadyView = view('NotReady', {
  ...problemView.shape,
  checks: z.optional(readinessChecks).meta({ description: 'Missing if the checks took longer than a request may.' }),
});

/** `#/components/schemas`: all registered schemas, as JSON Schema of the transmitted JSON. */
export function componentSchemas(): Record<string, JsonSchema> {
  const { schemas } = z.toJSONSchema(components, { io: 'input', uri: refTo });
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { $schema: _dialect, $id: _id, ...schema }]) => [
      name,
      forGenerators(schema as JsonSchema),
    ]),
  );
}

/** A reference to a registered schema; any other schema is written inline. */
export function schemaFor(schema: z.ZodType): JsonSchema {
  const id = components.get(schema)?.id;
  return id === undefined ? forGenerators(inlineSchema(schema)) : { $ref: refTo(id) };
}

export function inlineSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io: 'input' });
  return rest as JsonSchema;
}

/** The schemas that `part` of the document refers to, and those that they refer to in turn. */
export function referencedSchemas(schemas: Record<string, JsonSchema>, part: unknown): Record<string, JsonSchema> {
  const found = new Set<string>();
  const follow = (json: unknown) => {
    for (const [, id = ''] of JSON.stringify(json).matchAll(REFERENCE)) {
      if (found.has(id)) continue;
      found.add(id);
      follow(schemas[id] ?? null);
    }
  };
  follow(part);
  return Object.fromEntries(Object.entries(schemas).filter(([id]) => found.has(id)));
}

const REFERENCE = /"#\/components\/schemas\/(\w+)"/g;

function refTo(id: string): string {
  return `#/components/schemas/${id}`;
}

/** The schema that a `$ref` into `#/components/schemas` names, or the schema itself; the parts of an `allOf` as one. */
export function resolve(schema: JsonSchema, schemas: Record<string, JsonSchema>): JsonSchema {
  const name = schema.$ref?.split('/').at(-1);
  const named = name === undefined ? undefined : schemas[name];
  if (named) return resolve(named, schemas);
  const { allOf, ...rest } = schema;
  if (!allOf) return schema;
  const parts = allOf.map((part) => resolve(part, schemas));
  return {
    ...{ type: 'object', ...rest },
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)),
    required: parts.flatMap(({ required = [] }) => required),
  };
}

/** An example of a schema, composed from the examples of its fields; ignored fields are omitted. */
export function exampleOf(given: JsonSchema, schemas: Record<string, JsonSchema>): unknown {
  const schema = resolve(given, schemas);
  if (schema.examples) return schema.examples[0];
  if (schema.enum) return schema.enum[0];
  if (schema.anyOf?.[0]) return exampleOf(schema.anyOf[0], schemas);
  switch ([schema.type].flat()[0]) {
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {})
          .filter(([, field]) => field.type || field.$ref || field.anyOf || field.enum)
          .map(([name, field]) => [name, exampleOf(field, schemas)]),
      );
    case 'array':
      return schema.items ? [exampleOf(schema.items, schemas)] : [];
    case 'integer':
    case 'number':
      return schema.default ?? schema.minimum ?? 1;
    case 'boolean':
      return schema.default ?? true;
    default:
      return schema.default ?? null;
  }
}
