/** What model calls used, in words and dollars. This file runs in the browser, too: the dashboard serves it. */

/** In US dollars. */
const least = 0.000001;

/**
 * Three digits say enough of any amount, so that a cheap call is not shown as free. Zeros behind the cents say nothing, and
 * whole dollars are always complete.
 */
export function formatDollars(amount) {
  if (!Number.isFinite(amount)) return "$?";
  if (amount < 0) return `-${formatDollars(-amount)}`;
  if (amount > 0 && amount < least) return `<$${least.toFixed(6)}`;
  const exponent = Number(amount.toExponential(2).split("e")[1]);
  const text = amount.toFixed(Math.max(0, 2 - exponent));
  if (exponent > 0) return `$${text.replace(/\.0$/, "").replace(/\B(?=(?:\d{3})+$)/g, ",")}`;
  return `$${text.replace(/(\.\d\d\d*?)0+$/, "$1")}`;
}
