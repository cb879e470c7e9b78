/** Nothing: what a workflow costs by itself. */
export async function bare(): Promise<void> {}
