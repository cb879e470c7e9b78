import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where a secret was found, by name: never the secret itself, which would end up in a test's report. */
export type Leak = `${string} in ${string}`;

/** A text to be searched, and where it comes from. */
export interface Trace {
  from: string;
  bytes: Buffer;
}

export function trace(from: string, text: string): Trace {
  return { from, bytes: Buffer.from(text) };
}

/** Which of `secrets` (by name) stand in `traces`: as they are, or in base64, hexadecimal or percent-encoding. */
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
  // The last group of base64 depends on what follows: it is left out.
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

/** Every file below `folder`, but those that exist to hold secrets (`privately`, paths within it). */
export function filesBelow(folder: string, privately: readonly string[]): Trace[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !privately.includes(path.slice(folder.length + 1)))
    .map((path) => ({ from: path.slice(folder.length + 1), bytes: readFileSync(path) }));
}

/** The command lines of all processes, where the system shows them in /proc: everybody on the machine can read them. */
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
