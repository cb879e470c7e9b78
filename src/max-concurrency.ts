/** The largest limit of attempts at once at one endpoint. */
export const MAX_CONCURRENCY = 100;
