import { readFile } from 'node:fs/promises';

/** The endpoint's secret: the file's bytes without one trailing line break, which editors and `echo` add. */
export async function readSecretFile(path: string): Promise<Buffer> {
  const bytes = await readFile(path);
  const end = bytes.at(-1) === 0x0a ? (bytes.at(-2) === 0x0d ? -2 : -1) : undefined;
  const secret = bytes.subarray(0, end);
  if (secret.length === 0) throw new Error(`${path} is empty`);
  return secret;
}
