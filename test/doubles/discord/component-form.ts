/**
 * Checks a message's buttons and menus: rows, lengths, and custom ids that stand once.
 * Rule: component-sizes
 */
import type { APIMessageTopLevelComponent } from "discord.js";
import type { FieldPath, Form } from "./api-error.ts";
import {
  choice,
  type Fields,
  fieldsOf,
  flag,
  integer,
  isAbsent,
  isEmoji,
  link,
  list,
  snowflake,
  text,
} from "./fields.ts";

/** What all components of one message share while they are read. */
export interface Reading {
  form: Form;
  customIds: Set<string>;
  nextId: number;
}

const menuTypes = [3, 5, 6, 7, 8];

export function createReading(form: Form): Reading {
  return { form, customIds: new Set(), nextId: 1 };
}

export function readComponents(form: Form, value: unknown, path: FieldPath): APIMessageTopLevelComponent[] {
  const reading = createReading(form);
  const rows = Array.isArray(value) ? value : list(form, value, path, 5);
  if (rows.length > 5) {
    form.wrong(path, "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.");
    return [];
  }
  return rows.map((row, index) => readRow(reading, row, [...path, index])) as APIMessageTopLevelComponent[];
}

export function readRow(reading: Reading, value: unknown, path: FieldPath): object {
  const { form } = reading;
  const fields = fieldsOf(form, value, path) ?? {};
  choice(form, fields.type, [...path, "type"], [1]);
  const inner = list(form, fields.components, [...path, "components"], 100);
  if (inner.length < 1 || inner.length > 5) {
    form.wrong([...path, "components"], "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.");
  }
  const id = reading.nextId++;
  const hasMenu = inner.some((one) => menuTypes.includes(Number((one as Fields | null)?.type)));
  if (hasMenu && inner.length > 1) {
    form.wrong(
      [...path, "components"],
      "COMPONENT_LAYOUT_WIDTH_EXCEEDED",
      "The specified component exceeds the maximum width",
    );
  }
  const components = inner.map((one, index) => readItem(reading, one, [...path, "components", index]));
  return { type: 1, id, components };
}

function readItem(reading: Reading, value: unknown, path: FieldPath): object {
  const fields = fieldsOf(reading.form, value, path) ?? {};
  const type = choice(reading.form, fields.type, [...path, "type"], [2, ...menuTypes]);
  return type === undefined || type === 2 ? readButton(reading, fields, path) : readMenu(reading, fields, path, type);
}

export function readButton(reading: Reading, fields: Fields, path: FieldPath): object {
  const { form } = reading;
  const at = (key: string) => [...path, key];
  const id = reading.nextId++;
  const style = choice(form, fields.style, at("style"), [1, 2, 3, 4, 5]);
  const label = text(form, fields.label, at("label"), { max: 80 });
  const disabled = flag(form, fields.disabled, at("disabled")) ?? false;
  const emoji = readEmoji(form, fields.emoji, at("emoji"));
  if (!label && emoji === undefined) {
    form.wrong(path, "BUTTON_COMPONENT_LABEL_OR_EMOJI_REQUIRED", "A button must have a label or an emoji");
  }
  const common = {
    type: 2,
    id,
    style: style ?? 1,
    ...(label ? { label } : {}),
    ...(emoji === undefined ? {} : { emoji }),
    ...(disabled ? { disabled } : {}),
  };
  if (style !== 5) {
    if (!isAbsent(fields.url))
      form.wrong(at("url"), "BUTTON_COMPONENT_CUSTOM_ID_AND_URL", "A custom id and url cannot both be specified");
    return { ...common, custom_id: readCustomId(reading, fields.custom_id, at("custom_id")) };
  }
  if (!isAbsent(fields.custom_id)) {
    form.wrong(at("custom_id"), "BUTTON_COMPONENT_CUSTOM_ID_AND_URL", "A custom id and url cannot both be specified");
  }
  if (isAbsent(fields.url)) form.wrong(at("url"), "BASE_TYPE_REQUIRED", "This field is required");
  return { ...common, url: link(form, fields.url, at("url"), ["http", "https", "discord"], 512) ?? "" };
}

function readMenu(reading: Reading, fields: Fields, path: FieldPath, type: number): object {
  const { form } = reading;
  const at = (...keys: FieldPath) => [...path, ...keys];
  const id = reading.nextId++;
  const placeholder = text(form, fields.placeholder, at("placeholder"), { max: 150 });
  const options = list(form, fields.options, at("options"), 25);
  if (type === 3 && options.length === 0) {
    form.wrong(at("options"), "BASE_TYPE_REQUIRED", "This field is required");
  }
  return {
    type,
    id,
    custom_id: readCustomId(reading, fields.custom_id, at("custom_id")),
    min_values: integer(form, fields.min_values, at("min_values"), { min: 0, max: 25 }) ?? 1,
    max_values: integer(form, fields.max_values, at("max_values"), { min: 1, max: 25 }) ?? 1,
    disabled: flag(form, fields.disabled, at("disabled")) ?? false,
    ...(placeholder ? { placeholder } : {}),
    ...(type === 3 ? { options: readOptions(form, options, at("options")) } : {}),
  };
}

/** The options of a menu; a value stands once. */
export function readOptions(form: Form, options: unknown[], path: FieldPath): ReadOption[] {
  const values = new Set<string>();
  return options.map((one, index) => {
    const option = readOption(form, one, [...path, index]);
    if (option.value !== "" && values.has(option.value)) {
      form.wrong(
        [...path, index],
        "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED",
        "The specified option value is already used",
      );
    }
    values.add(option.value);
    return option;
  });
}

export interface ReadOption {
  label: string;
  value: string;
  description?: string;
  default: boolean;
}

function readOption(form: Form, value: unknown, path: FieldPath): ReadOption {
  const fields = fieldsOf(form, value, path) ?? {};
  const description = text(form, fields.description, [...path, "description"], { max: 100 });
  return {
    label: text(form, fields.label, [...path, "label"], { min: 1, max: 100 }) ?? "",
    value: text(form, fields.value, [...path, "value"], { min: 1, max: 100 }) ?? "",
    ...(description ? { description } : {}),
    default: flag(form, fields.default, [...path, "default"]) ?? false,
  };
}

function readCustomId(reading: Reading, value: unknown, path: FieldPath): string {
  const customId = text(reading.form, value, path, { min: 1, max: 100 }) ?? "";
  if (customId !== "" && reading.customIds.has(customId)) {
    reading.form.wrong(path, "COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id cannot be duplicated");
  }
  reading.customIds.add(customId);
  return customId;
}

function readEmoji(form: Form, value: unknown, path: FieldPath): { id?: string; name: string } | undefined {
  if (isAbsent(value)) return undefined;
  const fields = fieldsOf(form, value, path) ?? {};
  const isCustom = !isAbsent(fields.id);
  const isUnicode = typeof fields.name === "string" && isEmoji(fields.name);
  if (!isCustom && !isUnicode) form.wrong([...path, "name"], "BUTTON_COMPONENT_INVALID_EMOJI", "Invalid emoji");
  const name = text(form, fields.name, [...path, "name"], { max: 32 }) ?? "";
  const id = snowflake(form, fields.id, [...path, "id"]);
  return { name, ...(id === undefined ? {} : { id }) };
}
