/** Members and array items that a body may have in total; the largest valid request has 28 members. */
export const MAX_MEMBERS = 100;

/** Levels of objects and arrays in a body; the deepest valid request has 2. */
export const MAX_DEPTH = 16;

/** The limit that a text exceeds, and where. */
export interface Excess {
  of: 'members' | 'depth';
  /** The names of the outermost object that were read before the excess; null where the outermost value is an array. */
  names: readonly string[] | null;
  /** The name whose value has the excess; undefined where the outermost object or array itself has it. */
  within: string | undefined;
}

export interface JsonStructure {
  /** A member name appears twice in one object. */
  repeated: boolean;
  /** The first excess; the rest of the text is not examined. */
  excess?: Excess;
  /** A number has a fraction or an exponent: only such a number can be rounded to an integer of at most 2^53−1. */
  mayRound?: true;
}

/**
 * Examines names, brackets and the form of numbers, each character once, and stops at the first excess: a text of 7,000
 * members costs no more than a text of `maxMembers`. The result for a text that is not JSON has no meaning; this
 * function does not throw.
 */
export function examineStructure(text: string, maxMembers: number): JsonStructure {
  /** The names of each open object; null for an array. */
  const open: (Set<string> | null)[] = [];
  let members = 0;
  let nameIsNext = false;
  let mayRound = false;
  let outermost: string | undefined;
  const excess = (of: Excess['of']): JsonStructure => ({
    repeated: false,
    excess: { of, names: open[0] ? [...open[0]] : null, within: open.length > 1 ? outermost : undefined },
  });
  for (let i = 0; i < text.length; i++) {
    const character = text[i];
    if (character === '"') {
      const end = endOfString(text, i);
      if (nameIsNext) {
        const name = nameOf(text.slice(i, end));
        const names = open.at(-1);
        if (names?.has(name)) return { repeated: true };
        names?.add(name);
        if (open.length === 1) outermost = name;
        if (++members > maxMembers) return excess('members');
        nameIsNext = false;
      }
      i = end - 1;
    } else if (character === '{' || character === '[') {
      if (open.length === MAX_DEPTH) return excess('depth');
      nameIsNext = character === '{';
      open.push(nameIsNext ? new Set() : null);
    } else if (character === '}' || character === ']') {
      open.pop();
      nameIsNext = false;
    } else if (character === ',') {
      const within = open.at(-1);
      nameIsNext = within instanceof Set;
      if (within === null && ++members > maxMembers) return excess('members');
    } else if (character === '.' || character === 'e' || character === 'E') {
      // The `e` of `true` and `false` follows a letter.
      mayRound ||= character === '.' || /\d/.test(text[i - 1] ?? '');
    }
  }
  return mayRound ? { repeated: false, mayRound } : { repeated: false };
}

/**
 * @returns the index after the closing quote of the string that begins at `start`; beyond the end where it is not
 * closed
 */
function endOfString(text: string, start: number): number {
  let i = start + 1;
  while (i < text.length && text[i] !== '"') i += text[i] === '\\' ? 2 : 1;
  return i + 1;
}

/** A name with invalid escapes is returned as written: `JSON.parse` of the whole text reports it. */
function nameOf(quoted: string): string {
  if (!quoted.includes('\\')) return quoted.slice(1, -1);
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return quoted;
  }
}
