/**
 * Checks a modal: its title, its ids, and one to five texts or fields, in rows or under labels. Menus, ticks and uploads stand under
 * labels alone.
 * Rules: modal-sizes, checkbox-group, file-upload, text-display-in-modals
 */
import type { APIModalInteractionResponseCallbackData } from "discord.js";
import { createForm, type FieldPath, type Form } from "./api-error.ts";
import { readOptions } from "./component-form.ts";
import { choice, type Fields, fieldsOf, flag, integer, isAbsent, list, text } from "./fields.ts";

interface Reading {
  form: Form;
  customIds: Set<string>;
}

/** Refuses what Discord would; returns the modal as the person sees it. */
export function readModal(data: Fields): APIModalInteractionResponseCallbackData {
  const form = createForm();
  const reading: Reading = { form, customIds: new Set() };
  const at = (...path: FieldPath) => ["data", ...path];
  const customId = text(form, data.custom_id, at("custom_id"), { min: 1, max: 100 }) ?? "";
  const title = text(form, data.title, at("title"), { min: 1, max: 45 }) ?? "";
  const rows = Array.isArray(data.components) ? data.components : list(form, data.components, at("components"), 5);
  if (rows.length < 1 || rows.length > 5) {
    form.wrong(at("components"), "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.");
  }
  const components = rows.slice(0, 5).map((row, index) => readPart(reading, row, at("components", index)));
  form.check();
  return { custom_id: customId, title, components } as unknown as APIModalInteractionResponseCallbackData;
}

function readPart(reading: Reading, value: unknown, path: FieldPath): object {
  const { form } = reading;
  const fields = fieldsOf(form, value, path) ?? {};
  const type = choice(form, fields.type, [...path, "type"], [1, 10, 18]);
  if (type === 10) return { type, content: text(form, fields.content, [...path, "content"], { min: 1, max: 4000 }) };
  if (type === 18) {
    return {
      type,
      label: text(form, fields.label, [...path, "label"], { min: 1, max: 45 }),
      description: text(form, fields.description, [...path, "description"], { max: 100 }),
      component: readLabelled(reading, fields.component, [...path, "component"]),
    };
  }
  const inner = list(form, fields.components, [...path, "components"], 5);
  if (inner.length !== 1) {
    form.wrong([...path, "components"], "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 1 in length.");
  }
  return {
    type: 1,
    components: inner.map((one, index) => readInput(reading, one, [...path, "components", index], true)),
  };
}

function readLabelled(reading: Reading, value: unknown, path: FieldPath): object {
  const fields = (value ?? {}) as Fields;
  if (fields.type === 5) return readUserMenu(reading, fields, path);
  if (fields.type === 19) return readUpload(reading, fields, path);
  if (fields.type === 3 || fields.type === 22) return readChoices(reading, fields, path, fields.type);
  return readInput(reading, value, path, false);
}

/**
 * A menu (3) or ticks (22). In a modal, it can't be disabled, has at least one option, and is required by default; then it needs a
 * minimum of one. It has no more default options than its maximum, which for ticks is their number by default.
 */
function readChoices(reading: Reading, fields: Fields, path: FieldPath, type: 3 | 22): object {
  const { form } = reading;
  const at = (key: string) => [...path, key];
  const room = type === 3 ? 25 : 10;
  const options = readOptions(form, list(form, fields.options, at("options"), room), at("options"));
  if (options.length === 0) form.wrong(at("options"), "BASE_TYPE_REQUIRED", "This field is required");
  if (fields.disabled === true) form.wrong(at("disabled"), "BASE_TYPE_CHOICES", "Value must be one of {False}.");
  const there = Math.max(1, options.length);
  const counts = readCounts(reading, fields, path, { least: room, most: there, usual: type === 3 ? 1 : there });
  const most = counts.max_values;
  const chosen = options.filter((option) => option.default).length;
  if (chosen > most) form.wrong(at("options"), "BASE_TYPE_MAX_LENGTH", `Must be ${most} or fewer in length.`);
  return {
    type,
    options,
    ...counts,
    ...(type === 3 ? { placeholder: text(form, fields.placeholder, at("placeholder"), { max: 150 }) } : {}),
  };
}

function readUpload(reading: Reading, fields: Fields, path: FieldPath): object {
  return {
    type: 19,
    ...readCounts(reading, fields, path, { least: 10, most: 10, usual: 1 }),
    file_types: readFileTypes(reading.form, fields.file_types, [...path, "file_types"]),
  };
}

/** Its id, and how many of something must and may be given: by default one at least, unless nothing is required. */
function readCounts(
  reading: Reading,
  fields: Fields,
  path: FieldPath,
  max: { least: number; most: number; usual: number },
): { custom_id: unknown; min_values: number; max_values: number; required: boolean } {
  const { form } = reading;
  const at = (key: string) => [...path, key];
  const required = flag(form, fields.required, at("required")) ?? true;
  const least = integer(form, fields.min_values, at("min_values"), { min: required ? 1 : 0, max: max.least }) ?? 1;
  const bounds = { min: Math.max(1, least), max: max.most };
  const most = integer(form, fields.max_values, at("max_values"), bounds) ?? max.usual;
  const id = readCustomId(reading, fields.custom_id, at("custom_id"));
  return { custom_id: id, min_values: least, max_values: most, required };
}

/** At most ten groups or extensions, in small letters; undefined if every file may be given. */
export function readFileTypes(form: Form, value: unknown, path: FieldPath): string[] | undefined {
  if (isAbsent(value)) return undefined;
  return list(form, value, path, 10).map((one, index) => {
    const type = (text(form, one, [...path, index], { min: 1, max: 100 }) ?? "").toLowerCase();
    if (!/^(?:image|video|audio|\.[^.\s]+)$/.test(type))
      form.wrong([...path, index], "BASE_TYPE_CHOICES", "Value must be a file group or an extension.");
    return type;
  });
}

/** A menu of people has no options: the client fills it. */
function readUserMenu(reading: Reading, fields: Fields, path: FieldPath): object {
  const { form } = reading;
  const at = (key: string) => [...path, key];
  if (fields.disabled === true) form.wrong(at("disabled"), "BASE_TYPE_CHOICES", "Value must be one of {False}.");
  return {
    type: 5,
    ...readCounts(reading, fields, path, { least: 25, most: 25, usual: 1 }),
    placeholder: text(form, fields.placeholder, at("placeholder"), { max: 150 }),
  };
}

function readCustomId({ form, customIds }: Reading, value: unknown, path: FieldPath): string {
  const customId = text(form, value, path, { min: 1, max: 100 }) ?? "";
  if (customIds.has(customId)) {
    form.wrong(path, "COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id cannot be duplicated");
  }
  customIds.add(customId);
  return customId;
}

/** In a row an input has its own label, under a label it has none. */
function readInput(reading: Reading, value: unknown, path: FieldPath, hasLabel: boolean): object {
  const { form } = reading;
  const at = (key: string) => [...path, key];
  const fields = fieldsOf(form, value, path) ?? {};
  choice(form, fields.type, at("type"), [4]);
  const customId = readCustomId(reading, fields.custom_id, at("custom_id"));
  const label = text(form, fields.label, at("label"), hasLabel ? { min: 1, max: 45 } : { max: 45 });
  return {
    type: 4,
    custom_id: customId,
    style: choice(form, fields.style, at("style"), [1, 2]),
    min_length: integer(form, fields.min_length, at("min_length"), { min: 0, max: 4000 }),
    max_length: integer(form, fields.max_length, at("max_length"), { min: 1, max: 4000 }),
    required: flag(form, fields.required, at("required")) ?? true,
    value: text(form, fields.value, at("value"), { max: 4000 }),
    placeholder: text(form, fields.placeholder, at("placeholder"), { max: 100 }),
    ...(label === undefined ? {} : { label }),
  };
}
