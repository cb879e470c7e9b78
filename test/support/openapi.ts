import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { OpenApiDocument } from '../../src/http/openapi/document.js';

type Json = Record<string, unknown>;

/** What is wrong with a value by a schema of the document; null where nothing is. */
export type Validate = (schema: unknown, value: unknown) => unknown;

/** Objects are closed for it: an answer with a field more than is described is wrong. */
export function openApiValidator(document: OpenApiDocument): Validate {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  const definitions = Object.fromEntries(
    Object.entries(document.components.schemas).map(([name, schema]) => [name, local(schema)]),
  );
  return (schema, value) => {
    const validate = ajv.compile({ $defs: definitions, ...(local(schema) as Json) });
    validate(value);
    return validate.errors ?? null;
  };
}

/** The schema of an answer; undefined where it has no body. Fails where the document does not know such an answer. */
export function schemaOf(operation: Json | undefined, status: number, type: string | null, where: string): unknown {
  const responses = (operation?.responses ?? {}) as Record<string, { content?: Record<string, { schema: unknown }> }>;
  const response = responses[status];
  if (!response) throw new Error(`the document knows no ${where}`);
  if (type === null) return undefined;
  const media = response.content?.[type.split(';')[0] ?? ''];
  if (!media) throw new Error(`the document knows no ${type} for ${where}`);
  return media.schema;
}

/** With `#/components/schemas/…` found under `$defs`, and every object closed. */
function local(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(local);
  if (typeof node !== 'object' || node === null) return node;
  const copy: Json = Object.fromEntries(Object.entries(node).map(([name, value]) => [name, local(value)]));
  if (typeof copy.$ref === 'string') copy.$ref = copy.$ref.replace('#/components/schemas/', '#/$defs/');
  const isOpen = 'properties' in copy && copy.type === 'object' && !('additionalProperties' in copy);
  return isOpen ? { ...copy, additionalProperties: false } : copy;
}
