const tags = new WeakMap<object, string>();

/** Keeps the ETag of a response for its result. */
export function keepEtag(result: object, headers: Headers): void {
  const etag = headers.get('etag');
  if (etag !== null) tags.set(result, etag);
}

/**
 * The ETag of what a call resolved with: an endpoint, a transfer, or a client of the operator. As `ifMatch` of a later
 * call, it keeps that call from changing anything that someone else has changed meanwhile.
 *
 * ```ts
 * const endpoint = await client.webhookEndpoints.get(id);
 * await client.webhookEndpoints.patch(id, { description: 'Live' }, { ifMatch: etagOf(endpoint) });
 * ```
 * @throws TypeError if the object has none: it is an item of a list, a copy, or another kind of result
 */
export function etagOf(result: object): string {
  const etag = tags.get(result);
  if (etag === undefined)
    throw new TypeError('this object has no ETag: pass the result of a call, not a copy or a list item');
  return etag;
}
