import { amountText, isCurrency } from '../../src/transfers/currencies.js';

it.each([
  [1250, 'EUR', '12.50 EUR'],
  [5, 'EUR', '0.05 EUR'],
  [125_001, 'JPY', '125,001 JPY'],
  [1_250_002, 'KWD', '1,250.002 KWD'],
  [Number.MAX_SAFE_INTEGER, 'EUR', '90,071,992,547,409.91 EUR'],
  [12_345, 'CLF', '1.2345 CLF'],
  [12_345, 'UYW', '1.2345 UYW'],
  [12_345, 'IQD', '12.345 IQD'],
  [7, 'XAU', '7 XAU'],
])('%d minor units of %s are %s', (value, currency, text) => {
  expect(amountText({ value, currency })).toBe(text);
});

// The currencies whose cash has no minor unit any more: Intl drops the digits that ISO 4217 has.
it.each('AFN ALL COP HUF IDR IRR KPW LAK LBP MGA MMK PKR SOS SYP YER'.split(' '))(
  '%s has the two digits of ISO 4217',
  (currency) => {
    expect(isCurrency(currency)).toBe(true);
    expect(amountText({ value: 1_250_00, currency })).toBe(`1,250.00 ${currency}`);
  },
);
