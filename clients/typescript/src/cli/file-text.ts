/**
 * The text of a file as editors write it: UTF-8, or UTF-16 with a byte order mark, as Notepad and PowerShell may write
 * it. The mark is no part of the text.
 * @returns undefined for any other bytes
 */
export function fileText(bytes: Uint8Array): string | undefined {
  const [first, second] = bytes;
  const encoding =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
    // UTF-16 without a mark reads as UTF-8 with a NUL in every other place.
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

/** What is wrong with a file that has no such text. */
export const NO_TEXT = 'is not text in UTF-8, nor in UTF-16 with a byte order mark (BOM)';
