import Sequencer from '@jest/test-sequencer';

const SLOW = /\/test\/(bench|cli|clients|console\/browser|delivery\/model|local|system|temporal|workflows)\//;

/** Each takes a minute or more, most of it waiting: the last of them would run alone at the end. */
const LONGEST =
  /\/test\/(system\/(kills|restore|temporal-frozen)|clients\/typescript\/service|delivery\/model\/model|local\/demo)\./;

/**
 * Starts the suites first that start processes and browsers, and wait for them. Without the times of an earlier run,
 * Jest starts the largest files first, and the small ones among these would run alone at the end.
 */
export default class SlowFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    const rank = ({ path }) => (LONGEST.test(path) ? 0 : SLOW.test(path) ? 1 : 2);
    return sorted.toSorted((one, other) => rank(one) - rank(other));
  }
}
