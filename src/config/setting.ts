import type { z } from 'zod';

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

type Optional<S extends Record<string, Setting>> = {
  [K in keyof S]: S[K]['byDefault'] extends string ? never : K;
}[keyof S];

/** The parsed variables of a table of settings, by name. Variables without a default may be undefined. */
export type Values<S extends Record<string, Setting>> = {
  [K in Exclude<keyof S, Optional<S>>]: z.output<S[K]['form']>;
} & {
  [K in Optional<S>]: z.output<S[K]['form']> | undefined;
};
