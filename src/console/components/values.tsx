import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { DeliveryStatus, TransferStatus } from '../../platform/database/generated/enums.js';
import { relativeTime } from '../../platform/duration.js';
import type { LastAttempt } from '../../reports/read-deliveries.js';

// How the console writes a text of others, a time, a quantity, an id and a status.

/**
 * A text of a client, a receiver or a sender, in one line: shown as text, isolated from the direction of the text
 * around it, with the characters that a reader cannot see made visible. Never a link.
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

/** JSON with one member a line where this loses nothing, such as a repeated member; any other text as it is. */
export function JsonText({ text, label }: { text: string; label: string }) {
  return <UntrustedLines text={formatJson(text)} label={label} />;
}

/** Deeply nested JSON is not laid out, so that 4 KiB of brackets stay a small page and cost little. */
const MAX_LEVELS = 20;

export function formatJson(text: string): string {
  let level = 0;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*(?:"|$)|[[\]{}]/gs)) {
    if (token.startsWith('"')) continue;
    level += token === '[' || token === '{' ? 1 : -1;
    if (level > MAX_LEVELS) return text;
  }
  try {
    const value: unknown = JSON.parse(text);
    return JSON.stringify(value) === text ? JSON.stringify(value, null, 2) : text;
  } catch {
    return text;
  }
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

/** The code points of a run, repeats as a count: `U+0001×4096`. Their pictures (U+2400…) are missing in many fonts. */
function pictures(run: string): string {
  return Array.from(run.matchAll(/(.)\1*/gsu), ([same, character = '']) => {
    const times = same.length / character.length;
    const codePoint = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    return `U+${codePoint}${times > 1 ? `×${times}` : ''}`;
  }).join(' ');
}

/** A button that copies a text as it is, unseen characters too. Only the script shows the button. */
export function CopyButton({ copies, label }: { copies: string; label: string }) {
  return (
    <button type="button" class="copy" data-copy={copies} aria-label={label} title={label} hidden>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d="M5.5 5.5h8v8h-8z M10.5 3V2.5h-8v8H3" stroke-width="1.4" />
      </svg>
    </button>
  );
}

/** A time, or ISO 8601 in UTC; the body of an event has no zone designator. */
type Instant = Date | string;

const dateOf = (at: Instant) => (typeof at === 'string' ? new Date(at.endsWith('Z') ? at : `${at}Z`) : at);

/** A time as the console writes it: `2026-11-22 06:14:03 UTC`. */
export function utcText(at: Instant): string {
  return `${dateOf(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** Postgres's clock at the request: a page compares times with it, and not with the clock of its process. */
export const Now = createContext(new Date(0));

/**
 * A time in UTC; the script shows it in the reader's zone, and UTC on hover and focus. @param ago also its distance
 * from now, as the server sees it
 */
export function Time({ at, ago }: { at: Instant; ago?: true }) {
  const time = <time dateTime={dateOf(at).toISOString()}>{utcText(at)}</time>;
  const now = useContext(Now);
  if (!ago) return time;
  return (
    <span>
      {time}
      <span class="muted"> {relativeTime(dateOf(at), now)}</span>
    </span>
  );
}

/** The distance from now; the time itself appears on hover and focus. */
export function RelativeTime({ at }: { at: Instant }) {
  return (
    <time class="relative" dateTime={dateOf(at).toISOString()} title={utcText(at)}>
      {relativeTime(dateOf(at), useContext(Now))}
    </time>
  );
}

/** When the next attempt of a delivery is planned. */
export function NextAttempt({ at }: { at: Date }) {
  return (
    <span class="muted">
      {at > useContext(Now) ? 'next' : 'due'} <RelativeTime at={at} />
    </span>
  );
}

/** `12034` → `12,034` */
export function countText(count: number): string {
  return count.toLocaleString('en');
}

/** `1 delivery`, `12,034 deliveries`, `1,000+ deliveries` */
export function countOf(count: number, singular: string, plural: string, more = false): string {
  return `${countText(count)}${more ? '+' : ''} ${count === 1 && !more ? singular : plural}`;
}

/** The share of successes in per cent, rounded down, so that 100 % means all. */
export function rateText(succeeded: number, attempts: number): string {
  return `${Math.floor((succeeded / attempts) * 1_000) / 10} %`;
}

/** ms for people: `85 ms`, `1.3 s`, `32 h 35 min`, `90 days` */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toPrecision(2)} s`;
  const minutes = Math.round(ms / 60_000);
  if (minutes >= 2 * 1_440 && minutes % 1_440 === 0) return `${minutes / 1_440} days`;
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  return [hours > 0 && `${hours} h`, rest > 0 && `${rest} min`].filter(Boolean).join(' ');
}

interface IdProps {
  id: string;
  /** The page of the id; undefined: the reader may not see it. */
  href?: string | undefined;
  /** Shows all of it and not only its end, which tells ids of the same time apart. */
  whole?: true;
}

/** An id with a button that copies all of it. */
export function Id({ id, href, whole }: IdProps) {
  const text = whole ? id : `…${id.slice(-8)}`;
  return (
    <span class="id">
      {href === undefined ? (
        <code title={id}>{text}</code>
      ) : (
        <a class="mono" href={href} title={id}>
          {text}
        </a>
      )}
      <CopyButton copies={id} label={`Copy the id ${id}`} />
    </span>
  );
}

/** Classes of the style sheet; none: the outcome is neither good nor bad. */
const TONES: Readonly<Record<DeliveryStatus | TransferStatus, 'good' | 'bad' | 'warn' | ''>> = {
  pending: 'warn',
  succeeded: 'good',
  failed: 'bad',
  cancelled: '',
  CREATED: '',
  PROCESSING: 'warn',
  SENT: 'warn',
  COMPLETED: 'good',
  CANCELLED: '',
  FAILED: 'bad',
  RETURNED: 'bad',
};

/** The status of a delivery or of a transfer, by its name in the API. The colour repeats what the word says. */
export function Status({ status }: { status: DeliveryStatus | TransferStatus }) {
  return <span class={`badge ${TONES[status]}`.trim()}>{status}</span>;
}

/** The outcome of an attempt in a word: the status of the response, or why there was none. */
export function Response({ error, responseStatus }: Pick<LastAttempt, 'error' | 'responseStatus'>) {
  return <span class={`badge ${error === null ? 'good' : 'bad'}`}>{responseStatus ?? error}</span>;
}

/**
 * Runs of characters that a reader cannot see: controls, format characters (direction, zero width, tags), line and
 * paragraph separators, lone surrogates. U+200C and U+200D stay: scripts and emoji are written with them.
 */
const UNSEEN_RUN = /(?:(?!\u200c|\u200d)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}])+/gu;

/** The same, but tabs and line feeds stay: for text that is shown in lines. */
const UNSEEN_RUN_IN_LINES = /(?:(?!\u200c|\u200d|[\t\n])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}])+/gu;
