import { UNSEEN_RUN, UNSEEN_RUN_IN_LINES } from '../../unseen-characters.js';

/** The code points of a run, repeats as a count: `U+0001×4096`. Their pictures (U+2400…) are missing in many fonts. */
function pictures(run: string): string {
  const counted: { character: string; times: number }[] = [];
  for (const character of run) {
    const last = counted.at(-1);
    if (last?.character === character) last.times++;
    else counted.push({ character, times: 1 });
  }
  return counted.map(({ character, times }) => `${codePoint(character)}${times > 1 ? `×${times}` : ''}`).join(' ');
}

function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

/**
 * A text of a client, a receiver or a sender, in one line: shown as text, isolated from the direction of the text around
 * it, with the characters that a reader cannot see made visible. Never a link.
 */
export function Untrusted({ text }: { text: string }) {
  return <bdi class="untrusted">{parts(text, UNSEEN_RUN)}</bdi>;
}

/** The same as a plain text, for a title or a choice, which contain no elements. */
export function visibleText(text: string): string {
  return text.replace(UNSEEN_RUN, (run) => `[${pictures(run)}]`);
}

/** A box that scrolls is reachable by keyboard (WCAG 2.1.1). */
const SCROLLS = { tabIndex: 0 };

/** The same for a text that keeps its lines, such as the body of a response. It scrolls in its own box. */
export function UntrustedLines({ text, label }: { text: string; label: string }) {
  return (
    <section class="lines" aria-label={label} {...SCROLLS}>
      <pre>
        <bdi class="untrusted">{parts(text, UNSEEN_RUN_IN_LINES)}</bdi>
      </pre>
    </section>
  );
}

/** One element for each run of unseen characters, so that 4 KiB of them stay a small page. */
function parts(text: string, unseen: RegExp) {
  const shown = [];
  let end = 0;
  for (const { 0: run, index } of text.matchAll(unseen)) {
    if (index > end) shown.push(text.slice(end, index));
    shown.push(<span class="unseen">{pictures(run)}</span>);
    end = index + run.length;
  }
  if (end < text.length) shown.push(text.slice(end));
  return shown;
}
