import type { z } from 'zod';

/** JSON Schema (2020-12) whose inner schemas are objects. */
export interface JsonSchema extends z.core.JSONSchema.JSONSchema {
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  allOf?: JsonSchema[];
}

const MAX_INT32 = 2 ** 31 - 1;

/**
 * The same schema in the form that generators of clients understand:
 * - `type: [T, 'null']` instead of `anyOf` with null, unless the other part is a reference;
 * - no property that is never allowed: generated clients would send it as null;
 * - no `default` in a body, which makes fields required in generated types; the description names it;
 * - no `pattern` beside `format: date-time`: the generated Python checks the parsed time with a name it never imports;
 * - `minimum` instead of `exclusiveMinimum`, and `format: int64` for numbers that may exceed 32 bits.
 */
export function forGenerators(given: JsonSchema): JsonSchema {
  const { properties, items, allOf, pattern, ...schema } = wholeNumber(withoutDefault(nullableType(given)));
  const allowed = Object.entries(properties ?? {}).filter(([, { not }]) => not === undefined);
  const inner = Object.fromEntries(allowed.map(([name, property]) => [name, forGenerators(property)]));
  return {
    ...schema,
    ...(pattern !== undefined && schema.format !== 'date-time' && { pattern }),
    ...(properties && { properties: inner }),
    ...(items && { items: forGenerators(items) }),
    ...(allOf && { allOf: allOf.map(forGenerators) }),
  };
}

function nullableType(schema: JsonSchema): JsonSchema {
  const { anyOf, ...rest } = schema;
  const [some, none, ...others] = anyOf ?? [];
  if (typeof some?.type !== 'string' || none?.type !== 'null' || others.length > 0) return schema;
  const type: unknown = [some.type, 'null'];
  return { ...some, ...rest, type, ...(some.enum && { enum: [...some.enum, null] }) } as JsonSchema;
}

function withoutDefault({ default: value, ...schema }: JsonSchema): JsonSchema {
  if (value === undefined || value === null) return schema;
  const description = [schema.description, `Default: \`${JSON.stringify(value)}\`.`].filter(Boolean).join(' ');
  return { ...schema, description };
}

/** The schema with the bounds of an integer; zod writes those of a safe integer too. */
export function wholeNumber(schema: JsonSchema): JsonSchema {
  if (![schema.type].flat().includes('integer')) return schema;
  const { minimum, exclusiveMinimum, maximum = Number.POSITIVE_INFINITY, ...rest } = schema;
  const least = typeof exclusiveMinimum === 'number' ? exclusiveMinimum + 1 : (minimum ?? Number.NEGATIVE_INFINITY);
  return {
    ...rest,
    ...(maximum > MAX_INT32 && { format: 'int64' }),
    ...(least > Number.MIN_SAFE_INTEGER && { minimum: least }),
    ...(Number.isFinite(maximum) && { maximum }),
  };
}
