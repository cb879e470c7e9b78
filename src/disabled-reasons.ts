/** Why an endpoint is disabled (contract, Webhook endpoints). */
export const DISABLED_REASONS = ['owner', 'operator', 'gone', 'failing'] as const;
export type DisabledReason = (typeof DISABLED_REASONS)[number];

/**
 * The reasons for which the service itself disables: the receiver responded 410, or had no success for `DISABLE_AFTER`.
 */
export const DISABLED_BY_SERVICE = ['gone', 'failing'] as const satisfies readonly DisabledReason[];
export type DisabledByService = (typeof DISABLED_BY_SERVICE)[number];
