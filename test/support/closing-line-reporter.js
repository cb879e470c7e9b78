import { writeSync } from 'node:fs';

/** Prints the last line of a run, which CI reads: `N passed, N failed`, and how many were skipped if any were. */
export default class ClosingLineReporter {
  onRunComplete(_contexts, results) {
    // A file that does not even load has run none of its tests: it counts as a failure.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const skipped = results.numPendingTests + results.numTodoTests;
    this.line = `${results.numPassedTests} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`;
    // Jest's own summary goes to standard error and ends the run: ours follows it. To the descriptor itself, since Jest
    // closes the streams where it is told to force the exit.
    process.once('exit', () => writeSync(1, this.line));
  }
}
