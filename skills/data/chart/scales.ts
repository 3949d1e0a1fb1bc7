/** Axis scales: where a value lies on an axis, and which values get a tick. */

export interface Scale {
  /** Maps a value to a position between 0 and 1. */
  at(value: number): number;
  ticks: { value: number; label: string }[];
}

/** Starts and ends at round numbers and covers all values. `hasZero` adds zero, where bars and areas start. */
export function linearScale(
  values: readonly number[],
  options: { ticks: number; hasZero: boolean; isPlain?: boolean },
): Scale {
  let [low, high] = extent(values);
  if (options.hasZero) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
  // Treat a range too narrow for doubles as a single value.
  const isOne = high - low <= Math.max(Math.abs(low), Math.abs(high)) * 1e-12;
  if (isOne) [low, high] = low === 0 ? [0, 1] : [low - Math.abs(low) / 2, high + Math.abs(high) / 2];
  const step = niceStep((high - low) / Math.max(1, options.ticks));
  const [from, to] = [Math.floor(low / step + 1e-9) * step, Math.ceil(high / step - 1e-9) * step];
  const count = Math.round((to - from) / step);
  const marks = Array.from({ length: count + 1 }, (_, index) => from + index * step);
  const format = numberFormat(step, Math.max(Math.abs(from), Math.abs(to)), options.isPlain === true);
  const ticks = marks.map((mark) => {
    // Floating-point error can put a mark next to zero (-0.3 + 3 * 0.1 is 5.6e-17), so snap it to zero.
    const value = Math.abs(mark) < step / 1e6 ? 0 : mark;
    return { value, label: format(value) };
  });
  return { at: (value) => (value - from) / (to - from), ticks };
}

/** Times are in milliseconds since 1970, and labels in UTC. */
export function timeScale(values: readonly number[], maxTicks: number): Scale {
  let [low, high] = extent(values);
  if (low === high) [low, high] = [low - day / 2, high + day / 2];
  const unit = timeUnits.find(({ ms }) => (high - low) / ms <= maxTicks) ?? timeUnits.at(-1);
  const ticks: Scale["ticks"] = [];
  if (unit !== undefined) {
    for (let mark = startOf(low, unit); mark <= high; mark = nextOf(mark, unit)) {
      if (mark >= low) ticks.push({ value: mark, label: timeLabel(mark, unit, ticks.length === 0) });
    }
  }
  return { at: (value) => (value - low) / (high - low), ticks };
}

export function extent(values: readonly number[]): [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [0, 1];
}

export function niceStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 2.5, 5, 10].find((candidate) => candidate * power >= rough * 0.999) ?? 10;
  return factor * power;
}

/** Formats the labels of ticks that are `step` apart. `isPlain` omits thousands separators, for years. */
function numberFormat(step: number, largest: number, isPlain: boolean): (value: number) => string {
  if (largest >= 1e15 || largest < 1e-4) {
    const digits = Math.min(15, Math.max(0, Math.ceil(Math.log10(largest / step))));
    return (value) =>
      value === 0
        ? "0"
        : value
            .toExponential(digits)
            .replace(/\.?0+e/, "e")
            .replace("-", "−");
  }
  const [divisor, sign] = largest >= 1e12 ? [1e12, "T"] : largest >= 1e9 ? [1e9, "B"] : [1e6, "M"];
  const digits = digitsOf(step / divisor);
  if (largest >= 1e6 && !isPlain && digits <= 3) {
    return (value) => (value === 0 ? "0" : `${grouped(value / divisor, digits)}${sign}`);
  }
  return (value) => (isPlain ? value.toFixed(digitsOf(step)) : grouped(value, digitsOf(step)));
}

export function shownNumber(value: number): string {
  if (value !== 0 && (Math.abs(value) >= 1e15 || Math.abs(value) < 1e-4)) return value.toPrecision(4);
  return value
    .toLocaleString("en", {
      maximumSignificantDigits: Math.abs(value) >= 1000 ? 15 : 4,
      maximumFractionDigits: 2,
      roundingPriority: "lessPrecision",
    })
    .replace("-", "−");
}

function grouped(value: number, digits: number): string {
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }).replace("-", "−");
}

function digitsOf(step: number): number {
  for (let digits = 0; digits < 15; digits += 1) {
    const scaled = step * 10 ** digits;
    if (scaled > 0.5 && Math.abs(scaled - Math.round(scaled)) < 1e-6 * scaled) return digits;
  }
  return 15;
}

interface TimeUnit {
  kind: "second" | "minute" | "hour" | "day" | "month" | "year";
  count: number;
  ms: number;
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const lengths = { second, minute, hour, day, month: 30.44 * day, year: 365.25 * day };
const counts: [TimeUnit["kind"], number[]][] = [
  ["second", [1, 2, 5, 10, 15, 30]],
  ["minute", [1, 2, 5, 10, 15, 30]],
  ["hour", [1, 2, 3, 6, 12]],
  ["day", [1, 2, 4, 7, 14]],
  ["month", [1, 2, 3, 6]],
  ["year", [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000]],
];
const timeUnits: TimeUnit[] = counts.flatMap(([kind, all]) =>
  all.map((count) => ({ kind, count, ms: count * lengths[kind] })),
);

function startOf(time: number, { kind, count, ms }: TimeUnit): number {
  const date = new Date(time);
  if (kind === "year") return Date.UTC(Math.floor(date.getUTCFullYear() / count) * count, 0);
  if (kind === "month") return Date.UTC(date.getUTCFullYear(), Math.floor(date.getUTCMonth() / count) * count);
  return Math.floor(time / ms) * ms;
}

function nextOf(time: number, { kind, count, ms }: TimeUnit): number {
  const date = new Date(time);
  if (kind === "year") return Date.UTC(date.getUTCFullYear() + count, 0);
  if (kind === "month") return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + count);
  return time + ms;
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

function timeLabel(time: number, { kind }: TimeUnit, isFirst: boolean): string {
  const date = new Date(time);
  const year = date.getUTCFullYear();
  const month = months[date.getUTCMonth()] ?? "";
  const ofDay = `${date.getUTCDate()} ${month}`;
  const clock = date.toISOString().slice(11, kind === "second" ? 19 : 16);
  const isMidnight = time % day === 0;
  switch (kind) {
    case "year":
      return String(year);
    case "month":
      return isFirst || date.getUTCMonth() === 0 ? `${month} ${year}` : month;
    case "day":
      return isFirst || (date.getUTCMonth() === 0 && date.getUTCDate() <= 14) ? `${ofDay} ${year}` : ofDay;
    default:
      return isFirst || isMidnight ? `${ofDay} ${clock}` : clock;
  }
}
