import { TransferServiceError } from './error.js';

/** One page of a list, newest first unless its `order` says otherwise. */
export interface Page<Item> {
  data: Item[];
  has_more: boolean;
  /** The `cursor` of the next page; null on the last page, but not of the feed of events (`order: 'oldest'`). */
  next_cursor: string | null;
}

/**
 * A list of the API. Nothing is requested before it is read:
 *
 * ```ts
 * for await (const transfer of client.transfers.list({ status: 'SENT' })) …  // every item, page by page
 * for await (const page of client.transfers.list().pages()) …                // every page
 * const { data, next_cursor } = await client.transfers.list({ limit: 10 }).page(); // one page
 * ```
 */
export class List<Item> implements AsyncIterable<Item> {
  readonly #read: (cursor: string | undefined) => Promise<Page<Item>>;

  /** @internal */
  constructor(read: (cursor: string | undefined) => Promise<Page<Item>>) {
    this.#read = read;
  }

  /** The first page, or the page of the given `cursor`. */
  page(): Promise<Page<Item>> {
    return this.#read(undefined);
  }

  /** Every page. */
  async *pages(): AsyncGenerator<Page<Item>, void, void> {
    let cursor: string | undefined;
    for (;;) {
      const page = await this.#read(cursor);
      yield page;
      if (page.next_cursor === null || !page.has_more) return;
      if (page.next_cursor === cursor) {
        throw new TransferServiceError('the next page is this page again', { code: 'invalid_response' });
      }
      cursor = page.next_cursor;
    }
  }

  /** Every item. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, void> {
    for await (const page of this.pages()) yield* page.data;
  }
}
