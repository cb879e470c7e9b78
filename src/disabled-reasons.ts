/** Why an endpoint is disabled (contract, Webhook endpoints). */
export const DISABLED_REASONS = ['owner', 'operator', 'gone', 'failing'] as const;
export type DisabledReason = (typeof DISABLED_REASONS)[number];

/** Those of the service itself: the receiver answered 410, or has not succeeded for `DISABLE_AFTER`. */
export const DISABLED_BY_SERVICE = ['gone', 'failing'] as const satisfies readonly DisabledReason[];
export type DisabledByService = (typeof DISABLED_BY_SERVICE)[number];
