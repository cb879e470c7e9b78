/** An empty workflow, to measure what any workflow costs. */
export async function bare(): Promise<void> {}

/** The same, with the input, summary and search attributes of a `deliverEvent` workflow. */
export async function shown(): Promise<void> {}
