import { test } from '@jest/globals';
import { runModel } from '../delivery/model/property.js';

const HOUR = 3_600;

test(
  'every row is as the table of transitions says, after any sequence of steps, for an hour',
  () => runModel(HOUR),
  2 * HOUR * 1_000,
);
