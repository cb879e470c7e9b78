import type { AppDependencies } from '../dependencies.js';
import type { Route } from '../route.js';
import { consoleSessionRoutes } from './console-sessions.js';
import { deliveryRoutes } from './deliveries.js';
import { endpointRoutes } from './endpoints.js';
import { eventRoutes } from './events.js';
import { explainSignatureRoute } from './explain-signature.js';
import { operatorRoutes } from './operator.js';
import { receiverCheckRoutes } from './receiver-checks.js';
import { sandboxRoutes } from './sandbox.js';
import { statementRoute } from './statement.js';
import { transferRoutes } from './transfers.js';

/** Every route that requires a token. */
export function apiRoutes(dependencies: AppDependencies): Route[] {
  return [
    endpointRoutes,
    transferRoutes,
    eventRoutes,
    deliveryRoutes,
    statementRoute,
    explainSignatureRoute,
    sandboxRoutes,
    consoleSessionRoutes,
    receiverCheckRoutes,
    operatorRoutes,
  ].flatMap((routes) => routes(dependencies));
}
