/** An amount of money with its currency's digits: 1250 minor units of EUR are `12.50 EUR`. */
export function amountText({ value, currency }: { value: number; currency: string }): string {
  const digits =
    new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2;
  // Written from its digits: a division loses cents of amounts near 2^53.
  const text = String(value).padStart(digits + 1, '0');
  const whole = text.slice(0, text.length - digits).replace(/\B(?=(\d{3})+$)/g, ',');
  return `${whole}${digits > 0 ? `.${text.slice(-digits)}` : ''} ${currency}`;
}

export function Amount({ amount }: { amount: { value: number; currency: string } }) {
  return <span class="numeric amount">{amountText(amount)}</span>;
}
