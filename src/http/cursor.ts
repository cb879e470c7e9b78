import { createHash } from 'node:crypto';

const CHECK_BYTES = 4;

/**
 * Writes and reads the position where a page ended. A cursor holds the key that its list is ordered by and a checksum
 * over that key and the list's name, so that a damaged cursor or a cursor of another list is refused and not read as a
 * position. Lists of one name, such as the deliveries of two endpoints, read each other's cursors: the position is one in
 * time, in both. A cursor is not secret: it points into the caller's own data.
 */
export interface CursorKind<Key> {
  write(key: Key): string;
  /** Undefined where the text is not a cursor of this list. */
  read(cursor: string): Key | undefined;
}

/** For the list `list` that is ordered by id. */
export const idCursor = (list: string) =>
  cursorKind<string>(`cursor of ${list}`, 16, {
    toBytes: (id) => Buffer.from(id.replaceAll('-', ''), 'hex'),
    fromBytes: (bytes) => bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
  });

/** For the list `list` that is ordered by a number. */
export const numberCursor = (list: string) =>
  cursorKind<number>(`number cursor of ${list}`, 4, {
    toBytes(number) {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(number);
      return bytes;
    },
    // A client can compute the checksum for any number: a number beyond Postgres's int4 is read as the largest int4.
    fromBytes: (bytes) => Math.min(bytes.readUInt32BE(), 2 ** 31 - 1),
  });

function cursorKind<Key>(
  salt: string,
  keyBytes: number,
  { toBytes, fromBytes }: { toBytes(key: Key): Buffer; fromBytes(bytes: Buffer): Key },
): CursorKind<Key> {
  const checksum = (bytes: Uint8Array) =>
    createHash('sha256').update(salt).update(bytes).digest().subarray(0, CHECK_BYTES);
  const length = Math.ceil(((keyBytes + CHECK_BYTES) * 4) / 3);
  return {
    write(key) {
      const bytes = toBytes(key);
      return Buffer.concat([bytes, checksum(bytes)]).toString('base64url');
    },
    read(cursor) {
      if (cursor.length !== length) return undefined;
      const all = Buffer.from(cursor, 'base64url');
      const bytes = all.subarray(0, keyBytes);
      const isValid = all.toString('base64url') === cursor && all.subarray(keyBytes).equals(checksum(bytes));
      return isValid ? fromBytes(bytes) : undefined;
    },
  };
}
