/** Formats US dollars for people. Small amounts keep four decimals, so that a cheap call is not shown as free. */
export function formatDollars(amount: number): string {
  if (amount === 0) return "$0.00";
  if (amount < 0.0001) return "<$0.0001";
  return amount < 0.01 ? `$${amount.toFixed(4)}` : `$${amount.toFixed(2)}`;
}
