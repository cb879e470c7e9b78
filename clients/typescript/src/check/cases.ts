/** The requests of a check of a receiver, in their order, and the expected response of each: a 2xx, or any other. */
export const CHECK_CASES = {
  valid: '2xx',
  duplicate: '2xx',
  out_of_order: '2xx',
  unknown_type: '2xx',
  unknown_field: '2xx',
  stale_timestamp: 'refused',
  wrong_secret: 'refused',
  changed_body: 'refused',
  missing_signature: 'refused',
} as const;

export type CheckCase = keyof typeof CHECK_CASES;

export const CHECK_CASE_NAMES = Object.keys(CHECK_CASES) as [CheckCase, ...CheckCase[]];
