import { amountText } from '../../../src/console/components/amount.js';

it.each([
  [1250, 'EUR', '12.50 EUR'],
  [5, 'EUR', '0.05 EUR'],
  [125_001, 'JPY', '125,001 JPY'],
  [1_250_002, 'KWD', '1,250.002 KWD'],
  [Number.MAX_SAFE_INTEGER, 'EUR', '90,071,992,547,409.91 EUR'],
])('%d minor units of %s are %s', (value, currency, text) => {
  expect(amountText({ value, currency })).toBe(text);
});
