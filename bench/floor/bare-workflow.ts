/** An empty workflow, to measure the cost of a workflow by itself. */
export async function bare(): Promise<void> {}
