import { z } from 'zod';
import { EXAMPLE_ID } from '../../platform/ids.js';
import { PROBLEMS, type RefusalCode } from '../../platform/refusal.js';
import { components, view } from '../schemas/fields.js';
import { MAX_ERRORS } from '../validation-errors.js';

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

const referTo = (id: string) => ({ $ref: `#/components/schemas/${id}` });

/** The body of a request or a response. @param schema a registered one */
export function jsonContent(schema: z.ZodType, type = 'application/json', others: object = {}) {
  return { content: { [type]: { schema: referTo(components.get(schema)?.id ?? ''), ...others } } };
}

/** The body of a request, with an example: tools such as Postman make none of the examples of its fields. */
export function requestBodyOf(schema: z.ZodType) {
  return { required: true, ...jsonContent(schema, 'application/json', { example: exampleBody(schema) }) };
}

/** A body that a schema accepts, made of the examples of its fields. Fields without one are left out. */
export function exampleBody(schema: z.ZodType): Record<string, unknown> {
  return exampleOf(z.toJSONSchema(schema, { io: 'input' })) as Record<string, unknown>;
}

function exampleOf(schema: z.core.JSONSchema.BaseSchema): unknown {
  const { properties, examples = schema.enum ?? [schema.default] } = schema;
  if (!properties) return examples[0];
  return Object.fromEntries(
    Object.entries(properties).map(([name, inner]) => [name, exampleOf(inner as z.core.JSONSchema.BaseSchema)]),
  );
}

export function headerRefs(names: readonly string[]) {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Headers that only responses with this status have. */
const HEADERS_OF: Readonly<Record<number, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

/** One response for each status of these codes. */
export function problemResponses(codes: readonly RefusalCode[]): Record<string, object> {
  const byStatus = Map.groupBy(codes, (code) => PROBLEMS[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, those]) => [
      status,
      {
        description: those.map((code) => `\`${code}\``).join(', '),
        headers: headerRefs(['X-Request-Id', ...(HEADERS_OF[status] ?? [])]),
        ...jsonContent(problemView, 'application/problem+json'),
      },
    ]),
  );
}

/**
 * `#/components/schemas`: the registered schemas that `part` of the document needs, as JSON Schema of the transmitted
 * JSON.
 */
export function componentSchemas(part: unknown): Record<string, z.core.JSONSchema.BaseSchema> {
  const { schemas } = z.toJSONSchema(components, {
    io: 'input',
    uri: (id) => referTo(id).$ref,
    override: ({ jsonSchema }) => adaptToGenerators(jsonSchema),
  });
  const needed: Record<string, z.core.JSONSchema.BaseSchema> = {};
  const follow = (json: unknown): void => {
    for (const [, id = ''] of JSON.stringify(json).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (id in needed) continue;
      const { $schema: _dialect, $id: _id, ...schema } = schemas[id] ?? {};
      needed[id] = schema;
      follow(schema);
    }
  };
  follow(part);
  return needed;
}

const MAX_INT32 = 2 ** 31 - 1;

/**
 * Changes a schema to the form that generators of clients understand:
 * - `type: [T, 'null']` instead of `anyOf` with null, unless the other part is a reference or an enum: decoders refuse
 *   null as a value of one;
 * - no property that is never allowed: generated clients would send it as null;
 * - no `default` in a body, which makes fields required in generated types; the description names it;
 * - no `pattern` beside `format: date-time`: the generated Python checks the parsed time with a name it never imports;
 * - `format: int64` for numbers that may exceed 32 bits.
 */
function adaptToGenerators(schema: z.core.JSONSchema.BaseSchema): void {
  const [some, none] = schema.anyOf ?? [];
  if (none?.type === 'null' && some?.enum) {
    const { description } = schema;
    delete schema.description;
    Object.assign(some, description && { description });
  } else if (some?.type && none?.type === 'null') {
    delete schema.anyOf;
    Object.assign(schema, { ...some, ...schema, type: [some.type, 'null'] });
  }
  if (schema.default !== undefined && schema.default !== null) {
    schema.description = `${schema.description ?? ''} Default: \`${JSON.stringify(schema.default)}\`.`.trim();
  }
  delete schema.default;
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (typeof property === 'object' && property.not) delete schema.properties?.[name];
  }
  if (schema.format === 'date-time') delete schema.pattern;
  if ([schema.type].flat().includes('integer') && (schema.maximum ?? 0) > MAX_INT32) schema.format = 'int64';
}
