import { createLog } from '../../src/telemetry/log.js';

export const silentLog = createLog('silent', 'test');
