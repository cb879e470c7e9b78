import { test } from '@jest/globals';
import { runModel } from './property.js';

test('every row is as the table of transitions says, after any sequence of steps', () => runModel(20));
