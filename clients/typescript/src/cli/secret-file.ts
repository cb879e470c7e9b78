import { readFile } from 'node:fs/promises';
import { fileText, NO_TEXT } from './file-text.js';

/** The endpoint's secret: the file's text without one trailing line break, which editors and `echo` add. */
export async function readSecretFile(path: string): Promise<Buffer> {
  const text = fileText(await readFile(path));
  if (text === undefined) throw new Error(`${path} ${NO_TEXT}`);
  const secret = text.replace(/\r?\n$/, '');
  if (secret === '') throw new Error(`${path} is empty`);
  return Buffer.from(secret);
}
