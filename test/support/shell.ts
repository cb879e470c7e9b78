/**
 * What zsh, the shell of macOS, reads otherwise than bash when somebody pastes it: a comment, whose words become
 * arguments, and an unquoted pattern that matches no file, which ends the command.
 */
export function pasteFaults(code: string): string[] {
  const faults: string[] = [];
  // The quotes and substitutions that are open, the innermost last.
  const open: ('"' | '(')[] = [];
  let delimiter: string | undefined;
  for (let i = 0; i < code.length; i++) {
    const rest = code.slice(i);
    const [char = ''] = rest;
    const isQuoted = open.at(-1) === '"';
    if (char === '\\') i++;
    else if (char === '"') isQuoted ? open.pop() : open.push('"');
    else if (rest.startsWith('$(')) i += open.push('(') && 1;
    else if (isQuoted) continue;
    else if (char === "'") i += rest.indexOf("'", 1);
    else if (char === ')') open.pop();
    else if (rest.startsWith('<<')) delimiter = /^<<-?\s*['"]?(\w+)/.exec(rest)?.[1];
    else if (char === '\n' && delimiter) {
      i += new RegExp(`^\\s*${delimiter}$`, 'm').exec(rest)?.index ?? rest.length;
      delimiter = undefined;
    } else if (char === '#' && /^$|[\s;|&(]/.test(code.charAt(i - 1))) {
      const [comment = ''] = /^.*/.exec(rest) ?? [];
      faults.push(`a comment: ${comment}`);
      i += comment.length - 1;
    } else if (/^([?*]|\[[^ ])/.test(rest) && code.charAt(i - 1) !== '$') {
      const [word = ''] = /\S*$/.exec(code.slice(0, i)) ?? [];
      const [end = ''] = /^\S*/.exec(rest) ?? [];
      faults.push(`a pattern outside of quotes: ${word}${end}`);
      i += end.length - 1;
    }
  }
  return faults;
}
