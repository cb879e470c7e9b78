/** ms on the machine's monotonic clock, which all its processes share: times taken in two of them can be compared. */
export const now = () => Number(process.hrtime.bigint()) / 1e6;
