import type { Client, Connection } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../../workflows/search-attributes.js';
import { isNotAllowed, isRefusedInput } from './faults.js';

/** The names of the search attributes that the namespace lacks. */
export async function missingAttributes(
  client: Client,
  { operatorService }: Pick<Connection, 'operatorService'>,
): Promise<string[]> {
  const { namespace } = client.options;
  const names = SEARCH_ATTRIBUTES.map(({ name }) => name);
  try {
    const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
    return names.filter((name) => customAttributes?.[name] === undefined);
  } catch (error) {
    if (!isNotAllowed(error)) throw error;
  }
  // A count refuses a query that names an unknown attribute, and any caller that starts workflows may count.
  const missing: string[] = [];
  for (const name of names) {
    await client.workflow.count(`${name} is null`).catch((error: unknown) => {
      if (!isRefusedInput(error)) throw error;
      missing.push(name);
    });
  }
  return missing;
}
