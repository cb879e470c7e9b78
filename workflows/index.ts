export { deliverEvent, progress, retryNow } from './deliver-event.js';
export { retryDelivery } from './retry-delivery.js';
