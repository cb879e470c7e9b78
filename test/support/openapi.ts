import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { OpenApiDocument } from '../../src/http/openapi/document.js';

type Json = Record<string, unknown>;

/** Validates a value against a schema of the document. Returns the errors, or null if there are none. */
export type Validate = (schema: unknown, value: unknown) => unknown;

/** Treats objects as closed: a response with an undocumented field is invalid. */
export function openApiValidator(document: OpenApiDocument): Validate {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  const definitions = Object.fromEntries(
    Object.entries(document.components.schemas).map(([name, schema]) => [name, local(schema)]),
  );
  const compiled = new Map<unknown, ValidateFunction>();
  return (schema, value) => {
    const validate = compiled.get(schema) ?? ajv.compile({ $defs: definitions, ...(local(schema) as Json) });
    compiled.set(schema, validate);
    validate(value);
    return validate.errors ?? null;
  };
}

/** The schema of a response; undefined if it has no body. Throws if the document does not describe the response. */
export function schemaOf(operation: Json | undefined, status: number, type: string | null, where: string): unknown {
  const responses = (operation?.responses ?? {}) as Record<string, { content?: Record<string, { schema: unknown }> }>;
  const response = responses[status];
  if (!response) throw new Error(`the document does not describe ${where}`);
  if (type === null) return undefined;
  const media = response.content?.[type.split(';')[0] ?? ''];
  if (!media) throw new Error(`the document does not describe ${type} for ${where}`);
  return media.schema;
}

/** The schema with `#/components/schemas/…` moved to `$defs`, and with closed objects. */
function local(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(local);
  if (typeof node !== 'object' || node === null) return node;
  const copy: Json = Object.fromEntries(Object.entries(node).map(([name, value]) => [name, local(value)]));
  if (typeof copy.$ref === 'string') copy.$ref = copy.$ref.replace('#/components/schemas/', '#/$defs/');
  const isOpen = 'properties' in copy && copy.type === 'object' && !('additionalProperties' in copy);
  return isOpen ? { ...copy, additionalProperties: false } : copy;
}
