import { z } from 'zod';

/** The schemas that the OpenAPI document names; a schema registers itself where it is written. */
export const components = z.registry<{ id: string }>();
