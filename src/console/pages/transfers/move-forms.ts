import { form, seeOther } from '../../page.js';
import { refuseOutsideSandbox } from './may-move.js';
import { transferPage } from './transfer.js';

/** `/console/transfers/{id}/status`: the sandbox's operation, which production does not have. */
export const moveForm = form({
  path: '/console/transfers/{id}/status',
  scope: 'transfers:write',
  page: transferPage,
  async submit(visit, fields) {
    const { id } = visit.params;
    const given = (name: string) => fields.get(name) || null;
    const body = { status: given('status') ?? '', reason: given('reason'), reason_code: given('reason_code') };
    const { status } = await visit.operations.change<{ status: string }>('setSandboxTransferStatus', {
      params: { id },
      body,
    });
    return seeOther(`/console/transfers/${id}`, `The transfer is ${status}. Its event is on its way.`);
  },
});

/** `/console/transfers/{id}/cancel` */
export const cancelForm = form({
  path: '/console/transfers/{id}/cancel',
  scope: 'transfers:write',
  page: transferPage,
  async submit(visit) {
    refuseOutsideSandbox(visit);
    const { id } = visit.params;
    await visit.operations.change('cancelTransfer', { params: { id } });
    return seeOther(`/console/transfers/${id}`, 'The transfer is cancelled.');
  },
});
