import { z } from 'zod';
import { components } from '../openapi/components.js';

/** A page of `item`, named `id` in the OpenAPI document. */
export function pageView<Item extends z.ZodType>(id: string, item: Item) {
  return z
    .object({
      data: z.array(item),
      has_more: z.boolean(),
      next_cursor: z.string().nullable().meta({ description: '`cursor` of the next page; null on the last.' }),
    })
    .register(components, { id });
}
