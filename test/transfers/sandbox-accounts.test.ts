import { automaticSteps } from '../../src/transfers/sandbox.js';
import { NEXT_STATUSES, REASON_CODES } from '../../src/transfers/states.js';

const stepsOf = (account: string) => automaticSteps(account, { environment: 'sandbox', sandboxStep: 2_000 });

describe('the accounts of the sandbox', () => {
  it('name the statuses that follow, and the reason code of the last one', () => {
    expect(stepsOf('SANDBOX-COMPLETE')).toEqual([
      { status: 'PROCESSING', reasonCode: null },
      { status: 'SENT', reasonCode: null },
      { status: 'COMPLETED', reasonCode: null },
    ]);
    expect(stepsOf('SANDBOX-CANCEL')).toEqual([{ status: 'CANCELLED', reasonCode: 'customer_request' }]);
    expect(stepsOf('SANDBOX-FAIL-INSUFFICIENT_FUNDS')).toEqual([
      { status: 'PROCESSING', reasonCode: null },
      { status: 'FAILED', reasonCode: 'insufficient_funds' },
    ]);
    expect(stepsOf('SANDBOX-RETURN-ACCOUNT_CLOSED')).toEqual([
      { status: 'PROCESSING', reasonCode: null },
      { status: 'SENT', reasonCode: null },
      { status: 'COMPLETED', reasonCode: null },
      { status: 'RETURNED', reasonCode: 'account_closed' },
    ]);
  });

  it.each(REASON_CODES)('take the reason code %s, and follow allowed transitions only', (code) => {
    for (const outcome of ['COMPLETE', 'CANCEL', `FAIL-${code.toUpperCase()}`, `RETURN-${code.toUpperCase()}`]) {
      const statuses = stepsOf(`SANDBOX-${outcome}`)!.map(({ status }) => status);
      const allowed = statuses.map((status, i) => NEXT_STATUSES[statuses[i - 1] ?? 'CREATED'].includes(status));
      expect([outcome, ...allowed]).toEqual([outcome, ...statuses.map(() => true)]);
    }
  });

  it.each([
    'SANDBOX-',
    'SANDBOX-complete',
    'SANDBOX-COMPLETE ',
    'SANDBOX-COMPLETE-OTHER',
    'SANDBOX-FAIL',
    'SANDBOX-FAIL-',
    'SANDBOX-FAIL-insufficient_funds',
    'SANDBOX-FAIL-NO_SUCH_CODE',
    'SANDBOX-RETURN',
    'SANDBOX-CANCEL-DUPLICATE',
  ])('do not include %j', (account) => {
    expect(() => stepsOf(account)).toThrow(expect.objectContaining({ code: 'unknown_sandbox_account' }));
  });

  it.each(['sandbox-complete', 'SANDBOX', ' SANDBOX-COMPLETE', 'DE89370400440532013000'])(
    'are no concern of a transfer to %j',
    (account) => expect(stepsOf(account)).toBeUndefined(),
  );
});
