import { createRequire } from 'node:module';

/** The release of this service, as package.json states it. */
export const { version: VERSION } = createRequire(import.meta.url)('transfer-service/package.json') as {
  version: string;
};
