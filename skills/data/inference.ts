/**
 * Infers the type of a CSV column. A value is a number only if reading it as one loses nothing:
 *
 *   - leading zeros, plus signs, thousands separators and units make a value text (postcodes, account numbers)
 *   - integers beyond 64 bits and decimals that a double can't represent are text
 *   - decimals of different lengths with trailing zeros (1.9, 1.10) are text, because they are versions
 *   - a single value of another kind makes the column text; NA, N/A, null and NaN among numbers count as empty
 *
 * A note says why a column that looks like numbers is text, because SQL compares text character by character.
 */

export type ColumnType = "INTEGER" | "REAL" | "TEXT";

export interface Inference {
  /** An empty string means no value. */
  add(value: string): void;
  result(): InferredColumn;
}

export interface InferredColumn {
  type: ColumnType;
  /** Values that mean "nothing" in this column, in addition to the empty string. */
  empties: string[];
  note: string | undefined;
}

const whole = /^-?(?:0|[1-9]\d*)$/;
const decimal =
  /^-?(?:(?:0|[1-9]\d*)?\.\d+|(?:0|[1-9]\d*)(?:\.\d+)?[eE][+-]\d{1,3}|(?:0|[1-9]\d*)?\.\d+[eE][+-]?\d{1,3})$/;
const nothing = new Set(["na", "n/a", "#n/a", "null", "nan", "none"]);
const largest = 2n ** 63n - 1n;
/** A double preserves at least this many decimal digits. */
const exactDigits = 15;

export function createInference(): Inference {
  let [wholes, decimals, others] = [0, 0, 0];
  let firstOther = "";
  let isNumberLike = 0;
  const empties = new Set<string>();
  const lengths = new Set<number>();
  let hasTrailingZero = false;

  return {
    add(value) {
      if (value === "") return;
      if (isWhole(value)) wholes += 1;
      else if (isDecimal(value)) {
        decimals += 1;
        const digits = /\.(\d+)$/.exec(value)?.[1] ?? "";
        if (lengths.size < 20) lengths.add(digits.length);
        if (digits.length > 1 && digits.endsWith("0")) hasTrailingZero = true;
      } else if (nothing.has(value.toLowerCase()) && empties.size < 20) empties.add(value);
      else {
        others += 1;
        if (firstOther === "") firstOther = value;
        if (looksLikeNumber(value)) isNumberLike += 1;
      }
    },
    result() {
      const numbers = wholes + decimals;
      if (numbers > 0 && others === 0) {
        // Keep these as text, because 1.1 and 1.10 are different versions but the same number.
        if (hasTrailingZero && (lengths.size > 1 || wholes > 0)) {
          return text("text, because its decimals have different lengths, like versions; as a number: CAST(… AS REAL)");
        }
        const type = decimals === 0 ? "INTEGER" : "REAL";
        const note = empties.size === 0 ? undefined : `${[...empties].join(", ")} read as empty`;
        return { type, empties: [...empties], note };
      }
      const isMostlyNumbers = numbers + isNumberLike > others - isNumberLike && numbers + isNumberLike > 0;
      return isMostlyNumbers ? lookalike(firstOther) : { type: "TEXT", empties: [], note: undefined };
    },
  };
}

function text(note: string): InferredColumn {
  return { type: "TEXT", empties: [], note };
}

function lookalike(value: string): InferredColumn {
  if (/^0\d/.test(value)) return text(`text, because of leading zeros, such as ${shown(value)}`);
  const compares = "text, compared by letters, because of values such as";
  if (/^-?[\d.]*,\d{1,2}$/.test(value)) {
    return text(`${compares} ${shown(value)}; as a number: CAST(replace(replace(…, '.', ''), ',', '.') AS REAL)`);
  }
  return text(`${compares} ${shown(value)}; as a number: CAST(… AS REAL), with replace() for other characters`);
}

function isWhole(value: string): boolean {
  if (!whole.test(value) || value === "-0") return false;
  if (value.length < 19) return true;
  const number = value.length > 20 ? largest + 2n : BigInt(value);
  return number <= largest && number >= -largest - 1n;
}

function isDecimal(value: string): boolean {
  if (!decimal.test(value)) return false;
  const [mantissa = ""] = value.split(/[eE]/);
  const digits = mantissa.replace(/[-.]/g, "").replace(/^0+/, "");
  return digits.length <= exactDigits || isKeptExactly(value);
}

function isKeptExactly(value: string): boolean {
  const number = Number(value);
  return (
    Number.isFinite(number) &&
    (String(number) === value || number.toFixed((value.split(".")[1] ?? "").length) === value)
  );
}

/** Recognises numbers as people write them: `1,234.50`, `€ 12`, `12 %`, `+5`, `007`, `12,5`. */
function looksLikeNumber(value: string): boolean {
  return /^[^\p{L}\d]{0,3}\d[\d.,'\u00a0\u202f ]*[^\p{L}\d]{0,3}$/u.test(value) && value.length < 40;
}

function shown(value: string): string {
  return JSON.stringify(value.length > 30 ? `${value.slice(0, 30)}…` : value);
}
