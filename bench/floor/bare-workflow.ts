/** An empty workflow, to measure the cost of a workflow by itself. */
export async function bare(): Promise<void> {}

/** The same, started with what operators see of a `deliverEvent` workflow: its input, summary and search attributes. */
export async function shown(): Promise<void> {}
