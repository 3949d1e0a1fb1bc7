/** Reads a body's fields like Discord, and collects errors with Discord's texts. */
import type { FieldPath, Form } from "./api-error.ts";

export type Fields = Record<string, unknown>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A value as it stands in a refusal. */
export function shown(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

export function fieldsOf(form: Form, value: unknown, path: FieldPath): Fields | undefined {
  if (isFields(value)) return value;
  form.wrong(path, "MODEL_TYPE_CONVERT", "Only dictionaries may be used in a ModelType");
  return undefined;
}

/** Text; Discord also accepts numbers. `min` above 0 makes it required. */
export function text(
  form: Form,
  value: unknown,
  path: FieldPath,
  bounds: { min?: number; max: number },
): string | undefined {
  const { min = 0, max } = bounds;
  if (isAbsent(value)) {
    if (min > 0) form.wrong(path, "BASE_TYPE_REQUIRED", "This field is required");
    return undefined;
  }
  if (typeof value !== "string" && typeof value !== "number") {
    form.wrong(path, "STRING_TYPE_CONVERT", `Could not interpret "${JSON.stringify(value)}" as string.`);
    return undefined;
  }
  const read = String(value);
  if (min > 0 && read.trim() === "") form.wrong(path, "BASE_TYPE_REQUIRED", "This field is required");
  else if (min > 0 && (read.length < min || read.length > max)) {
    form.wrong(path, "BASE_TYPE_BAD_LENGTH", `Must be between ${min} and ${max} in length.`);
  } else if (read.length > max) {
    form.wrong(path, "BASE_TYPE_MAX_LENGTH", `Must be ${max} or fewer in length.`);
  }
  return read;
}

export function integer(
  form: Form,
  value: unknown,
  path: FieldPath,
  bounds: { min?: number; max?: number } = {},
): number | undefined {
  if (isAbsent(value)) return undefined;
  const read = typeof value === "string" && /^-?\d+$/.test(value) ? Number(value) : value;
  if (typeof read !== "number" || !Number.isInteger(read)) {
    form.wrong(path, "NUMBER_TYPE_COERCE", `Value "${shown(value)}" is not int.`);
    return undefined;
  }
  if (bounds.min !== undefined && read < bounds.min) {
    form.wrong(path, "NUMBER_TYPE_MIN", `int value should be greater than or equal to ${bounds.min}.`);
  }
  if (bounds.max !== undefined && read > bounds.max) {
    form.wrong(path, "NUMBER_TYPE_MAX", `int value should be less than or equal to ${bounds.max}.`);
  }
  return read;
}

export function choice<T extends number | string>(
  form: Form,
  value: unknown,
  path: FieldPath,
  choices: readonly T[],
): T | undefined {
  if (isAbsent(value)) {
    form.wrong(path, "BASE_TYPE_REQUIRED", "This field is required");
    return undefined;
  }
  const found = choices.find((one) => one === value);
  if (found === undefined) {
    const list = choices.map((one) => (typeof one === "string" ? `'${one}'` : one)).join(", ");
    form.wrong(path, "BASE_TYPE_CHOICES", `Value must be one of {${list}}.`);
  }
  return found;
}

export function flag(form: Form, value: unknown, path: FieldPath): boolean | undefined {
  if (isAbsent(value)) return undefined;
  if (typeof value === "boolean") return value;
  form.wrong(path, "BOOLEAN_TYPE_CONVERT", "Must be either true or false.");
  return undefined;
}

export function snowflake(form: Form, value: unknown, path: FieldPath): string | undefined {
  if (isAbsent(value)) return undefined;
  if ((typeof value === "string" || typeof value === "number") && /^\d{1,20}$/.test(String(value)))
    return String(value);
  form.wrong(path, "NUMBER_TYPE_COERCE", `Value "${shown(value)}" is not snowflake.`);
  return undefined;
}

/** A list of at most `max` values; nothing is an empty list. */
export function list(form: Form, value: unknown, path: FieldPath, max: number): unknown[] {
  if (isAbsent(value)) return [];
  if (!Array.isArray(value)) {
    form.wrong(path, "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType");
    return [];
  }
  if (value.length > max) {
    form.wrong(path, "BASE_TYPE_MAX_LENGTH", `Must be ${max} or fewer in length.`);
    return value.slice(0, max);
  }
  return value;
}

/** Web addresses, and files of the message itself where `attachment://` may stand. */
export function link(form: Form, value: unknown, path: FieldPath, schemes: string[], max = 2048): string | undefined {
  const read = text(form, value, path, { max });
  if (read === undefined || read === "") return undefined;
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(read)?.[1]?.toLowerCase();
  if (scheme === undefined) form.wrong(path, "URL_TYPE_INVALID_URL", "Not a well formed URL.");
  else if (!schemes.includes(scheme)) {
    const known = schemes.map((one) => `'${one}'`).join(", ");
    form.wrong(
      path,
      "URL_TYPE_INVALID_SCHEME",
      `Scheme "${scheme}" is not supported. Scheme must be one of (${known}).`,
    );
  } else if (scheme !== "attachment" && !URL.canParse(read)) {
    form.wrong(path, "URL_TYPE_INVALID_URL", "Not a well formed URL.");
  }
  return read;
}

export function isEmoji(text: string): boolean {
  return /^(?:\p{Extended_Pictographic}|\p{Regional_Indicator}{2}|[0-9#*]\uFE0F?\u20E3)/u.test(text);
}
