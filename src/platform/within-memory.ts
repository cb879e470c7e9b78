import type { LRUCache } from 'lru-cache';

/** What an entry takes beside the text of its key: the places in lru-cache's lists, and a small value. */
const ENTRY = 250;

/**
 * Bounds a cache with short text as keys by memory, for `new LRUCache(…)`. A bound on the number of entries is exceeded
 * by the next tenant: keys that come in turns, one more than the cache holds, are never found.
 * @param mebibytes the most that the entries take; 1 MiB holds some 3,500
 */
export function withinMemory<Value extends NonNullable<unknown>>(mebibytes: number) {
  return {
    maxSize: mebibytes * 2 ** 20,
    sizeCalculation: (_: Value, key: string) => ENTRY + key.length,
  } satisfies Partial<LRUCache.Options<string, Value, unknown>>;
}
