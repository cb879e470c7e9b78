import type { SentAttempt } from '../../../webhooks/read-sent-attempt.js';
import { DELIVERY_HEADERS, SIGNATURE_HEADER } from '../../../webhooks/sender/delivery-headers.js';

/** What stands for a signature that the reader may not see, or that can no longer be computed. */
export const MASKED = '*'.repeat(64);

/** The headers of a delivery as sent (spec §4); a signature that is not known is masked. */
export function sentHeaders({ attempt, v0 }: Pick<SentAttempt, 'v0'> & { attempt: { t: string } }): [string, string][] {
  return [
    ...DELIVERY_HEADERS.map(([name, value]) => [name, value] as [string, string]),
    [SIGNATURE_HEADER, `t=${attempt.t},v0=${v0 ?? MASKED}`],
  ];
}
