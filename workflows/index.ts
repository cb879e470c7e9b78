export { deliverEvent, progress, retryNow } from './deliver-event.js';
export { recoverEndpoint } from './recover-endpoint.js';
export { retryDelivery } from './retry-delivery.js';
