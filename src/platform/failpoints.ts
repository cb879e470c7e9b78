import { channel } from 'node:diagnostics_channel';

const passed = channel('transfer-service.failpoint');

/**
 * Reports that the process passes a failpoint: a named point between two steps (docs/reliability.md). The
 * service has no listener and no setting for it: test code that is loaded beside the service ends the process here
 * (test/support/die-at-failpoint.js).
 */
export function failpoint(name: string): void {
  if (passed.hasSubscribers) passed.publish(name);
}
