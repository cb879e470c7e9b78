import { test } from '@jest/globals';
import { runModel } from './property.js';

test('every row is as the table of transitions says, in five minutes of sequences', () => runModel(300), 600_000);
