/** The result of one check of `doctor`. `detail` says what is wrong and how to fix it. */
export interface Finding {
  check: string;
  ok: boolean;
  detail: string;
  /** The service works, but the setting should be changed. */
  warning?: true;
}

/** @param fault what is wrong and how to fix it; false: nothing */
export const finding = (check: string, good: string, fault: string | false = false): Finding => ({
  check,
  ok: fault === false,
  detail: fault || good,
});
