export { checkReceiver } from './check-receiver.js';
export { deliverEvent, progress, retryNow } from './deliver-event.js';
export { recoverEndpoint } from './recover-endpoint.js';
export { removeExpired } from './remove-expired.js';
export { retryDelivery } from './retry-delivery.js';
export { sandboxTransfer } from './sandbox-transfer.js';
