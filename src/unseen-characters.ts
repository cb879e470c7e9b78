/**
 * Runs of characters that a reader cannot see: controls, format characters (direction, zero width, tags), line and
 * paragraph separators, lone surrogates. U+200C and U+200D stay: scripts and emoji are written with them.
 */
export const UNSEEN_RUN = /(?:(?!\u200c|\u200d)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}])+/gu;

/** The same, but tabs and line feeds stay: for text that is shown in lines. */
export const UNSEEN_RUN_IN_LINES = /(?:(?!\u200c|\u200d|[\t\n])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}])+/gu;
