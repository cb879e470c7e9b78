import { z } from 'zod';
import { formatDuration, parseDuration } from '../duration.js';
import { isNetwork } from '../networks.js';
import { Secret } from '../secret.js';

const wholeNumber = (min: number, max: number, hint: string) =>
  z.coerce.number({ error: hint }).int(hint).min(min, hint).max(max, hint);

export const count = (min: number, max: number) => wholeNumber(min, max, `give a whole number from ${min} to ${max}`);

export const port = wholeNumber(0, 65_535, 'give a whole number from 0 to 65535 (0 picks a free port)');

/** A duration, in ms. */
export const duration = z.string().transform((text, context) => {
  const milliseconds = parseDuration(text);
  if (milliseconds === undefined) {
    context.addIssue({ code: 'custom', message: 'give a duration such as 30s, 5m, 2h or 90d' });
    return z.NEVER;
  }
  return milliseconds;
});

/** ms */
export const SECOND = 1_000;
/** ms */
export const DAY = 86_400_000;

/** A duration with bounds, such as a lifetime: none and endless are both invalid. @param min in ms, as is `max` */
export const durationWithin = (min: number, max: number) =>
  duration.refine(
    (milliseconds) => milliseconds >= min && milliseconds <= max,
    `give a duration from ${formatDuration(min)} to ${formatDuration(max)}`,
  );

export const flag = z.enum(['true', 'false'], { error: 'give true or false' }).transform((text) => text === 'true');

/** The items of a text that separates them by commas. */
export const list = (text: string) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

/** A list of CIDRs. */
export const networks = z.string().transform((text, context) => {
  const cidrs = list(text);
  for (const cidr of cidrs) {
    if (!isNetwork(cidr)) {
      context.addIssue({
        code: 'custom',
        message: `${cidr} is not a network; give CIDRs such as 10.0.0.0/8,2001:db8::/32`,
      });
      return z.NEVER;
    }
  }
  return cidrs;
});

export const secretText = z.string().transform((text) => new Secret(text));
