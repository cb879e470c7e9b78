import { z } from 'zod';
import { formatDuration, parseDuration } from '../duration.js';
import { isNetwork } from '../networks.js';
import { Secret } from '../secret.js';

/** An environment variable: its form, its default (as text) and its meaning. */
export interface Setting<T extends z.ZodType = z.ZodType, D extends string | undefined = string | undefined> {
  form: T;
  byDefault: D;
  meaning: string;
  secret: boolean;
}

export function setting<T extends z.ZodType, D extends string | undefined>(
  form: T,
  byDefault: D,
  meaning: string,
): Setting<T, D> {
  return { form, byDefault, meaning, secret: false };
}

/** A secret has no default. Its value may come from the file `NAME_FILE` or the output of `NAME_COMMAND`. */
export function secretSetting<T extends z.ZodType>(form: T, meaning: string): Setting<T, undefined> {
  return { form, byDefault: undefined, meaning, secret: true };
}

/** The parsed variables of a table of settings, by name. Variables without a default may be undefined. */
export type Values<S extends Record<string, Setting>> = {
  [K in keyof S]: z.output<S[K]['form']> | (S[K]['byDefault'] extends string ? never : undefined);
};

/** Text in a form that `parse` reads. It returns undefined for any other text, which `hint` explains. */
function parsed<T>(parse: (text: string) => T | undefined, hint: string | ((text: string) => string)) {
  return z.string().transform((text, context) => {
    const value = parse(text);
    if (value !== undefined) return value;
    context.addIssue({ code: 'custom', message: typeof hint === 'string' ? hint : hint(text) });
    return z.NEVER;
  });
}

const wholeNumber = (min: number, max: number, hint: string) =>
  z.coerce.number({ error: hint }).int(hint).min(min, hint).max(max, hint);

export const count = (min: number, max: number) => wholeNumber(min, max, `give a whole number from ${min} to ${max}`);

export const port = wholeNumber(0, 65_535, 'give a whole number from 0 to 65535 (0 picks a free port)');

/** A duration, in ms. */
export const duration = parsed(parseDuration, 'give a duration such as 30s, 5m, 2h or 90d');

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

export const delays = parsed<readonly number[]>((text) => {
  const ladder = list(text).map(parseDuration);
  return ladder.length > 50 || ladder.includes(undefined) ? undefined : (ladder as number[]);
}, 'give at most 50 durations, such as 0s,5m,30m,2h,6h,24h');

export const flag = z.enum(['true', 'false'], { error: 'give true or false' }).transform((text) => text === 'true');

/** The items of a text that separates them by commas. */
const list = (text: string) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

/** A list of CIDRs. */
export const networks = parsed<readonly string[]>(
  (text) => (list(text).every(isNetwork) ? list(text) : undefined),
  (text) =>
    `${list(text).find((cidr) => !isNetwork(cidr))} is not a network; give CIDRs such as 10.0.0.0/8,2001:db8::/32`,
);

export const secretText = z.string().transform((text) => new Secret(text));

/** Node skips characters that are not base64 and stops at the padding, so a truncated or concatenated key would pass. */
export const masterKey = parsed(
  (text) => (/^[A-Za-z0-9+/]{43}=$/.test(text) ? new Secret<Uint8Array>(Buffer.from(text, 'base64')) : undefined),
  'give 32 bytes in base64 (openssl rand -base64 32)',
);

export const postgresUrl = parsed(
  (text) => (/^postgres(ql)?:\/\//.test(text) && URL.canParse(text) ? new Secret(text) : undefined),
  'give a URL such as postgresql://user:password@host:5432/database',
);

export const roleName = z.string().min(1).max(63, 'give the name of a role, at most 63 characters');

/** The URL is compared as text with the audience that clients send, so it must have the URL standard's spelling. */
export const origin = z.string().refine((text) => {
  const url = URL.parse(text);
  const spelling = url && url.origin + url.pathname.replace(/\/$/, '');
  return text === spelling && /^https?:/.test(text) && !text.endsWith('/');
}, 'give an absolute http(s) URL in lower case with no trailing slash, such as https://api.example.com');

export const collector = z
  .string()
  .refine(
    (text) => /^https?:\/\//.test(text) && URL.canParse(text),
    'give an http(s) URL, such as http://localhost:4318',
  );

export const hostAndPort = z
  .string()
  .refine(
    (text) => /^([^\s:/]+|\[[0-9a-fA-F:]+\]):\d{1,5}$/.test(text) && URL.canParse(`http://${text}`),
    'give host:port, such as temporal.internal:7233',
  );
