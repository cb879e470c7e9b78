import { writeSync } from 'node:fs';

/**
 * Prints the last line of a run, which CI reads: `N passed, N failed`, and the number of skipped tests if there are
 * any.
 */
export default class ClosingLineReporter {
  onRunComplete(_contexts, results) {
    // A file that does not load runs none of its tests. It counts as a failure.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const skipped = results.numPendingTests + results.numTodoTests;
    this.line = `${results.numPassedTests} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`;
    // This line follows Jest's own summary on standard error. It is written to the descriptor, since Jest closes the
    // streams with --forceExit.
    process.once('exit', () => writeSync(1, this.line));
  }
}
