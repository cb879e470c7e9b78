import { z } from 'zod';
import { components } from '../openapi/components.js';

/** A page of `item`, named `id` in the OpenAPI document. */
export function pageView<Item extends z.ZodType>(id: string, item: Item) {
  return z
    .object({
      data: z.array(item),
      has_more: z.boolean(),
      next_cursor: z.string().nullable().meta({ description: 'The `cursor` of the next page; null on the last page.' }),
    })
    .register(components, { id });
}
