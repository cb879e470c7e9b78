import Sequencer from '@jest/test-sequencer';

const SLOW = /\/test\/(bench|cli|clients|console\/browser|delivery\/model|local|system|temporal|workflows)\//;

/**
 * Starts the suites first that start processes and browsers, and wait for them. Without the times of an earlier run,
 * Jest starts the largest files first, and the small ones among these would run alone at the end.
 */
export default class SlowFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    const isSlow = ({ path }) => SLOW.test(path);
    return [...sorted.filter(isSlow), ...sorted.filter((test) => !isSlow(test))];
  }
}
