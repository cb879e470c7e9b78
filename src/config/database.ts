import { z } from 'zod';
import { Secret } from '../secret.js';
import { count } from './forms.js';
import { secretSetting, setting } from './setting.js';

const postgresUrl = z
  .string()
  .regex(/^postgres(ql)?:\/\//, 'give a URL such as postgresql://user:password@host:5432/database')
  .refine((text) => URL.canParse(text), 'give a URL such as postgresql://user:password@host:5432/database')
  .transform((text) => new Secret(text));

const roleName = z.string().min(1).max(63, 'give the name of a role, at most 63 characters');

/** Postgres. */
export const databaseSettings = {
  DATABASE_URL: secretSetting(postgresUrl, 'URL of Postgres. Unset: the embedded stack.'),
  DATABASE_DIRECT_URL: secretSetting(
    postgresUrl,
    'URL of the same database past a transaction pooler, for `migrate`, notifications and locks. Set it only if `DATABASE_URL` names a pooler.',
  ),
  DATABASE_RUNTIME_ROLE: setting(
    roleName,
    undefined,
    'Role of `DATABASE_URL`, to which `migrate` grants the rights of a running service. Unset: `migrate` grants nothing.',
  ),
  DATABASE_API_ROLE: setting(
    roleName,
    undefined,
    'Role of `DATABASE_URL` of APIs that have a role of their own, for `migrate`: it does not write what only workers write.',
  ),
  DATABASE_WORKER_ROLE: setting(
    roleName,
    undefined,
    'Role of `DATABASE_URL` of workers that have a role of their own, for `migrate`: it does not write what only APIs write.',
  ),
  DATABASE_POOL_SIZE: setting(
    count(2, 500),
    '10',
    'Connections to Postgres for each role. `start` runs two roles in one process and opens this many for each.',
  ),
} as const;
