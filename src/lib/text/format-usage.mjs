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

/**
 * The tokens of calls together, such as `5,200 in, 300 out; 4,100 of 5,200 from the cache (78 %), 900 written to it`. Says
 * nothing of the cache if the service does not. `number` writes a number.
 */
export function tokensText(calls, number) {
  const { prompt, output, read, written } = countsOf(calls);
  const share = cachedShare(calls);
  const all = `${number(prompt)} in, ${number(output)} out`;
  if (share === undefined) return all;
  const fromCache =
    read === 0 ? "nothing from the cache" : `${number(read)} of ${number(prompt)} from the cache (${share})`;
  return `${all}; ${fromCache}${written === 0 ? "" : `, ${number(written)} written to it`}`;
}

/** How much of the prompts was read from the service's cache, rounded down. Undefined if the service says nothing of a cache. */
export function cachedShare(calls) {
  const { prompt, read, written } = countsOf(calls);
  if (read + written === 0) return undefined;
  const percent = Math.floor((100 * read) / prompt);
  return read > 0 && percent === 0 ? "less than 1 %" : `${percent} %`;
}

/** Counts that are missing, or can't be, are none. */
function countsOf(calls) {
  const isCount = (count) => Number.isFinite(count) && count > 0 && count <= Number.MAX_SAFE_INTEGER;
  const sum = (key) => calls.reduce((total, call) => total + (isCount(call[key]) ? call[key] : 0), 0);
  const [read, written] = [sum("cacheReadTokens"), sum("cacheWriteTokens")];
  return { prompt: sum("inputTokens") + read + written, output: sum("outputTokens"), read, written };
}
