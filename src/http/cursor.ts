import { createHash } from 'node:crypto';

const CHECK_BYTES = 4;

/**
 * Writes and reads the place where a page ended: the key that its list is ordered by, and a checksum, so that a cursor that
 * was changed on its way is refused rather than read as another place. A cursor is no secret: it points into the caller's own.
 */
export interface CursorKind<Key> {
  write(key: Key): string;
  /** Undefined where it is no cursor of this kind. */
  read(cursor: string): Key | undefined;
}

/** Of a list that is ordered by id. */
export const idCursor = cursorKind<string>('cursor', 16, {
  toBytes: (id) => Buffer.from(id.replaceAll('-', ''), 'hex'),
  fromBytes: (bytes) => bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
});

/** Of a list that is ordered by a number. */
export const numberCursor = cursorKind<number>('number cursor', 4, {
  toBytes(number) {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(number);
    return bytes;
  },
  // Anybody can make the checksum: a number that is beyond Postgres's int4 is its last.
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
      const good = all.toString('base64url') === cursor && all.subarray(keyBytes).equals(checksum(bytes));
      return good ? fromBytes(bytes) : undefined;
    },
  };
}
