/**
 * The active codes of ISO 4217, list one (as of 2026: with XCG, SLE, ZWG; without ANG, BGN, CUC, HRK, SLL, ZWL), by the
 * digits of their minor unit. XTS (for testing) and XXX (no currency) are excluded, because they cannot be paid in.
 */
const CODES_BY_DIGITS = [
  [0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'],
  // The list has no minor unit for these, such as gold ("N.A."): their amounts are whole units.
  [0, 'XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XUA'],
  [
    2,
    `AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY
    COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS
    INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR
    MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP
    STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG`,
  ],
  [3, 'BHD IQD JOD KWD LYD OMR TND'],
  [4, 'CLF UYW'],
] as const;

const digitsByCode: ReadonlyMap<string, number> = new Map(
  CODES_BY_DIGITS.flatMap(([digits, codes]) => codes.split(/\s+/).map((code) => [code, digits] as const)),
);

export function isCurrency(code: string): boolean {
  return digitsByCode.has(code);
}

/**
 * An amount for people: 1250 minor units of EUR are `12.50 EUR`. The digits are those of ISO 4217, in which clients
 * count. `Intl` has those of cash: none for HUF or IDR.
 */
export function amountText({ value, currency }: { value: number; currency: string }): string {
  const digits = digitsByCode.get(currency) ?? 2;
  // A decimal text, which `format` reads exactly: a division loses cents of amounts near 2^53.
  const decimal = `${value}e-${digits}` as `${number}`;
  return `${new Intl.NumberFormat('en', { minimumFractionDigits: digits }).format(decimal)} ${currency}`;
}
