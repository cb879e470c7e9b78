/** ms on the machine's monotonic clock. All processes share it, so their times are comparable. */
export const now = () => Number(process.hrtime.bigint()) / 1e6;
