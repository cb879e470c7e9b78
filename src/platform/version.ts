import { createRequire } from 'node:module';

const stated = createRequire(import.meta.url)('transfer-service/package.json') as {
  version: string;
  engines: { node: string };
};

/** The release of this service, as package.json states it. */
export const VERSION = stated.version;

/** The releases of Node.js that the service supports, as package.json states them: `^22.19 || ^24`. */
export const SUPPORTED_NODE = stated.engines.node;
