import { z } from 'zod';

/** The named schemas of the OpenAPI document; each schema registers itself where it is declared. */
export const components = z.registry<{ id: string }>();
