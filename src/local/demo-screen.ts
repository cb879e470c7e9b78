const coloured = (code: number) => (text: string) => (process.stdout.isTTY ? `\x1b[${code}m${text}\x1b[0m` : text);

const bold = coloured(1);
export const red = coloured(31);
export const green = coloured(32);

/** Begins a chapter of the demo. */
export function chapter(title: string): void {
  console.log(`\n${bold(title)}`);
}

/** Prints a line of the demo. */
export function say(label: string, text: string): void {
  console.log(`   ${label.padEnd(12)} ${text}`);
}
