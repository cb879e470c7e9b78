/**
 * Throws in a browser, where everybody who opens the page could read the client secret.
 * @throws Error
 */
export function refuseBrowser(): void {
  const { document, importScripts, process } = globalThis as {
    document?: unknown;
    importScripts?: unknown;
    process?: { versions?: { node?: string } };
  };
  if (process?.versions?.node !== undefined) return;
  if (document !== undefined || importScripts !== undefined) {
    throw new Error(
      'transfer-service-client runs on servers only: in a browser, every visitor could read the client secret. ' +
        'Call the service from your own server.',
    );
  }
}
