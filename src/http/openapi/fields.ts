import { type JsonSchema, resolve } from './example.js';

/** One row of a table of fields. */
export interface Field {
  name: string;
  type: string;
  required: boolean;
  meaning: string;
}

/** The fields of an object and of its nested objects, by dotted name. */
export function fieldsOf(given: JsonSchema, schemas: Record<string, JsonSchema>, prefix = ''): Field[] {
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

export function typeOf(given: JsonSchema, schemas: Record<string, JsonSchema>): string {
  const schema = resolve(given, schemas);
  if (schema.anyOf) return schema.anyOf.map((one) => typeOf(one, schemas)).join(' or ');
  const type = Array.isArray(schema.type) ? schema.type.join(' or ') : (schema.type ?? 'any');
  return schema.format ? `${type} (${schema.format})` : type;
}

export function meaningOf(schema: JsonSchema): string {
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
