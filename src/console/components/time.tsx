import { relativeTime } from '../../relative-time.js';

/** A time as the console writes it: `2026-11-22 06:14:03 UTC`. @param iso ISO 8601 in UTC, with `Z` or without */
export function utcText(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
}

/** Of an ISO 8601 text in UTC; the body of an event has no zone designator (spec §2). */
export function instantOf(iso: string): Date {
  return new Date(iso.endsWith('Z') ? iso : `${iso}Z`);
}

interface Props {
  /** ISO 8601 in UTC. */
  at: string;
  now?: Date;
}

/** A time in UTC and its distance from now, as the server sees it. */
export function Time({ at, now = new Date() }: Props) {
  const instant = instantOf(at);
  return (
    <time class="time" dateTime={instant.toISOString()} title={instant.toISOString()}>
      {utcText(at)} <span class="relative">{relativeTime(instant, now)}</span>
    </time>
  );
}

/** The distance from now alone, with the time as its title: for narrow columns whose exact time is one click away. */
export function RelativeTime({ at, now = new Date() }: Props) {
  const instant = instantOf(at);
  return (
    <time class="time" dateTime={instant.toISOString()} title={utcText(at)}>
      {relativeTime(instant, now)}
    </time>
  );
}
