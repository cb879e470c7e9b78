import { createLog } from '../../src/platform/telemetry/log.js';

export const silentLog = createLog('silent', 'test');
