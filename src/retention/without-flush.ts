/**
 * SQL, a value for the list of a `select`: the commit of this transaction does not wait for the disk. A removal that a
 * crash of Postgres takes back is made again by the next run.
 */
export const WITHOUT_FLUSH = `set_config('synchronous_commit', 'off', true) as flush`;
