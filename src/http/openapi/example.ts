/** The parts of JSON Schema (2020-12) that our schemas use. */
export interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  propertyNames?: JsonSchema;
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  enum?: unknown[];
  not?: JsonSchema;
  examples?: unknown[];
  default?: unknown;
  format?: string;
  description?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  minLength?: number;
  maxLength?: number;
  maxProperties?: number;
  pattern?: string;
}

/** The schema that a `$ref` into `#/components/schemas` names, or the schema itself. */
export function resolve(schema: JsonSchema, schemas: Record<string, JsonSchema>): JsonSchema {
  const name = schema.$ref?.split('/').at(-1);
  const named = name === undefined ? undefined : schemas[name];
  return named ? resolve(named, schemas) : schema;
}

/** An example of a schema, composed from the examples of its fields; ignored fields are omitted. */
export function exampleOf(given: JsonSchema, schemas: Record<string, JsonSchema>): unknown {
  const schema = resolve(given, schemas);
  if (schema.examples) return schema.examples[0];
  if (schema.enum) return schema.enum[0];
  if (schema.anyOf?.[0]) return exampleOf(schema.anyOf[0], schemas);
  switch (schema.type) {
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
