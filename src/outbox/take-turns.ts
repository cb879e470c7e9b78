import { mergeNotices, type Notice } from './notice.js';

/**
 * ms after which a worker looks for events of a notice that is another worker's turn. A worker that is dead or has no
 * capacity thus delays an event by little, and the other workers look at most ten times a second.
 */
const AFTER_OTHERS = 100;

export interface TurnsOptions {
  /** Whether it is this worker's turn. */
  hasTurn: (turn: number) => boolean;
  /** Looks for the events. */
  look: (notice: Notice) => void;
}

/**
 * Spreads notices over the workers: each notice wakes one worker at once, and the others a little later. If all workers
 * looked at once, they would compete for the same rows, and all but one would find none.
 */
export function takeTurns({ hasTurn, look }: TurnsOptions): { onNotice(notice: Notice): void; stop(): void } {
  let later: Notice | undefined;
  let timer: NodeJS.Timeout | undefined;
  return {
    onNotice(notice) {
      if (notice.turn === null || hasTurn(notice.turn)) {
        look(notice);
        return;
      }
      later = later ? mergeNotices(later, notice) : notice;
      timer ??= setTimeout(() => {
        timer = undefined;
        if (later) look(later);
        later = undefined;
      }, AFTER_OTHERS);
    },
    stop() {
      clearTimeout(timer);
    },
  };
}
