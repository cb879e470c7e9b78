import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The name of a secret and where it was found. It never contains the secret itself, which a test report would show. */
export type Leak = `${string} in ${string}`;

/** A text to search, and its origin. */
export interface Trace {
  from: string;
  bytes: Buffer;
}

export function trace(from: string, text: string): Trace {
  return { from, bytes: Buffer.from(text) };
}

/** Finds `secrets` (by name) in `traces`: in plain text, base64, hexadecimal, percent-encoding or JSON. */
export function findLeaks(secrets: Readonly<Record<string, string>>, traces: readonly Trace[]): Leak[] {
  return Object.entries(secrets).flatMap(([name, secret]) => {
    const forms = formsOf(secret);
    return traces
      .filter(({ bytes }) => forms.some((form) => bytes.includes(form)))
      .map(({ from }) => `${name} in ${from}` as const);
  });
}

function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  // The last group of base64 depends on the bytes that follow, so it is omitted.
  const base64 = (['base64', 'base64url'] as const).map((form) => bytes.toString(form).slice(0, -4));
  return [
    ...new Set([
      secret,
      ...base64,
      bytes.toString('hex'),
      encodeURIComponent(secret),
      JSON.stringify(secret).slice(1, -1),
    ]),
  ];
}

/** Every file below `folder`, except the files that may hold secrets (`privately`, paths relative to `folder`). */
export function filesBelow(folder: string, privately: readonly string[]): Trace[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !privately.includes(path.slice(folder.length + 1)))
    .map((path) => ({ from: path.slice(folder.length + 1), bytes: readFileSync(path) }));
}

/** The command lines of all processes in /proc, if the system has it. Every user of the machine can read them. */
export function commandLines(): Trace[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => trace(`the command line of process ${pid}`, commandLine(pid)));
  } catch {
    return [];
  }
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
