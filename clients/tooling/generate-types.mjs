import openapiTS, { astToString } from 'openapi-typescript';
import { digestOf } from '../../scripts/client/document.mjs';

/**
 * The TypeScript file for a document: its types, and the method and path of each operation.
 * @returns {Promise<string>}
 */
export async function generateTypes(document) {
  const types = astToString(await openapiTS(document, { alphabetize: false, defaultNonNullable: false }));
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, security, servers, 'x-keyed': keyed }]) => [
      operationId,
      {
        ...{ method: method.toUpperCase(), path },
        ...(security?.length === 0 && { open: true }),
        ...(servers && { auth: true }),
        ...(keyed && { keyed: true }),
      },
    ]),
  );
  return `// Made by \`npm run client:types\` from the service's OpenAPI document. Do not edit.
// Document: ${digestOf(document)}

${plain(types).replaceAll('    ', '  ').trimEnd()}

export interface Operation {
  method: string;
  path: string;
  /** Whether it needs no token. */
  open?: true;
  /** Whether it is at the host of the token endpoint. */
  auth?: true;
  /** Whether it takes an \`Idempotency-Key\`, under which its response is kept. None whose response is a secret does. */
  keyed?: true;
}

export const OPERATIONS: Record<keyof operations, Operation> = ${JSON.stringify(Object.fromEntries(operations), null, 2)};
`;
}

/**
 * `operations` has what the client uses, and `paths` has it once more. The tags of the comments say nothing that the text
 * and the types do not say.
 */
function plain(types) {
  return types
    .replace(/^export interface paths \{.*?^\}\n/ms, '')
    .replace(/^ *(\/\*\* @enum \{string\} \*\/|\* @enum \{string\})\n/gm, '')
    .replaceAll('@description ', '');
}
