import type { Document } from './manifests.js';

/** What a client of an OpenAPI document may use, and what it must send: a line for each. */
interface Surface {
  offered: Set<string>;
  demanded: Set<string>;
}

/** What a client of the document `before` could no longer use, or must newly send, with the document `after`. */
export function breakingChanges(before: Document, after: Document): string[] {
  const [old, now] = [surfaceOf(before), surfaceOf(after)];
  const isOld = (line: string) => old.offered.has(line.split(' ', 2).join(' '));
  return [
    ...[...old.offered].filter((line) => !now.offered.has(line)).map((line) => `removed: ${line}`),
    ...[...now.demanded].filter((line) => !old.demanded.has(line) && isOld(line)).map((line) => `required: ${line}`),
  ];
}

function surfaceOf(document: Document): Surface {
  const offered = new Set<string>();
  const demanded = new Set<string>();
  const resolve = (value: Document): Document =>
    value?.$ref
      ? resolve(
          value.$ref
            .slice(2)
            .split('/')
            .reduce((at: Document, key: string) => at[key], document),
        )
      : value;
  const walk = (schema: Document, line: string, isSent: boolean, above: readonly Document[] = []): void => {
    const one = resolve(schema);
    if (!one || above.includes(one)) return;
    const within = [...above, one];
    for (const part of [...(one.anyOf ?? []), ...(one.oneOf ?? []), ...(one.allOf ?? [])]) {
      walk(part, line, isSent, within);
    }
    if (one.items) walk(one.items, `${line}[]`, isSent, within);
    for (const [name, property] of Object.entries(one.properties ?? {})) {
      offered.add(`${line}.${name}`);
      if (isSent && one.required?.includes(name)) demanded.add(`${line}.${name}`);
      walk(property, `${line}.${name}`, isSent, within);
    }
  };
  const walkContent = (body: Document, line: string, isSent: boolean) => {
    for (const { schema } of Object.values<Document>(resolve(body)?.content ?? {})) walk(schema, line, isSent);
  };
  for (const [path, methods] of Object.entries<Document>(document.paths)) {
    for (const [method, operation] of Object.entries<Document>(methods)) {
      if (!operation.responses) continue;
      const line = `${method.toUpperCase()} ${path}`;
      offered.add(line);
      for (const parameter of [...(methods.parameters ?? []), ...(operation.parameters ?? [])].map(resolve)) {
        offered.add(`${line} ${parameter.in} ${parameter.name}`);
        if (parameter.required) demanded.add(`${line} ${parameter.in} ${parameter.name}`);
      }
      walkContent(operation.requestBody, `${line} body `, true);
      for (const [status, response] of Object.entries(operation.responses)) {
        if (status.startsWith('2')) walkContent(response, `${line} ${status} `, false);
      }
    }
  }
  return { offered, demanded };
}
