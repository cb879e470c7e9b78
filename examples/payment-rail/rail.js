// A payment rail: pays the transfers of all clients. It may be killed at any line, and started twice. Its only state is
// the status of each transfer at the service and the bank's payment with the transfer's id as reference.

/**
 * @param {import('transfer-service-client').TransferServiceClient['operator']} operator
 * @param {{pay(reference: string, order: object): Promise<Payment>, find(reference: string): Promise<Payment>}} bank
 * @typedef {{state: 'accepted' | 'settled' | 'rejected', reasonCode?: string}} Payment
 */
export function createRail(operator, bank, log = console.log) {
  /** @returns false if another worker, the client or a person has changed the transfer meanwhile */
  async function report(id, status, reasonCode) {
    try {
      await operator.setTransferStatus(id, { status, ...(reasonCode && { reason_code: reasonCode }) });
      log(`${id} ${status}${reasonCode ? `: ${reasonCode}` : ''}`);
      return true;
    } catch (error) {
      if (error?.code !== 'invalid_transition') throw error;
      log(`${id} is not ${status}: it was changed meanwhile`);
      return false;
    }
  }

  /** Pays a transfer that is PROCESSING, or finds the payment that was made before a crash. */
  async function pay({ id, amount, destination }) {
    const payment = await bank.pay(id, { amount, destination }).catch((error) => {
      if (error?.code !== 'duplicate_reference') throw error;
      return bank.find(id);
    });
    if (payment.state === 'rejected') return report(id, 'FAILED', payment.reasonCode);
    return report(id, 'SENT');
  }

  /** Reports what became of a payment that was SENT. */
  async function settle({ id }) {
    const payment = await bank.find(id);
    if (payment.state === 'settled') await report(id, 'COMPLETED');
    if (payment.state === 'rejected') await report(id, 'FAILED', payment.reasonCode);
  }

  return {
    /** Continues what an earlier process claimed and did not finish. Call it once, at the start. */
    async resume() {
      for await (const transfer of operator.listTransfers({ status: 'PROCESSING' })) await pay(transfer);
    },

    /** Claims and pays the oldest transfers, then looks for settled payments. @returns how many it claimed */
    async round() {
      let claimed = 0;
      const { data } = await operator.listTransfers({ status: 'CREATED', order: 'oldest', limit: 100 }).page();
      for (const transfer of data) {
        // PROCESSING is the claim: of two workers, one gets `invalid_transition`, and leaves the transfer to the other.
        if (!(await report(transfer.id, 'PROCESSING'))) continue;
        claimed++;
        await pay(transfer);
      }
      for await (const transfer of operator.listTransfers({ status: 'SENT' })) await settle(transfer);
      return claimed;
    },
  };
}
