export { checkReceiver } from './check-receiver.js';
export { deliverEvent, progress, wake } from './deliver-event.js';
export { notify } from './notify.js';
export { sandboxTransfer } from './sandbox-transfer.js';
