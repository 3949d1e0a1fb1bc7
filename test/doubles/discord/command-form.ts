/**
 * Checks application commands: names, descriptions, options within options, choices, and how much text they are together.
 * Rule: command-sizes
 */
import type { FieldPath, Form } from "./api-error.ts";
import { choice, type Fields, fieldsOf, flag, integer, isAbsent, isFields, list, shown, text } from "./fields.ts";
import { readFileTypes } from "./modal-form.ts";

const namePattern = /^[-_'\p{L}\p{N}\p{sc=Deva}\p{sc=Thai}]{1,32}$/u;
const maxText = 8000;

/** The command without the fields that only the service gives: id, version, application. */
export interface CommandForm {
  type: number;
  name: string;
  description: string;
  options: OptionForm[];
  defaultMemberPermissions: string | null;
  contexts: number[] | null;
  isNsfw: boolean;
}

export interface OptionForm {
  type: number;
  name: string;
  description: string;
  required?: boolean;
  choices?: { name: string; value: string | number }[];
  options?: OptionForm[];
  min_value?: number;
  max_value?: number;
  min_length?: number;
  max_length?: number;
  autocomplete?: boolean;
  file_types?: string[];
}

export function readCommand(form: Form, value: unknown, path: FieldPath): CommandForm {
  const at = (...keys: FieldPath) => [...path, ...keys];
  const fields = fieldsOf(form, value, path) ?? {};
  const type = isAbsent(fields.type) ? 1 : (choice(form, fields.type, at("type"), [1, 2, 3]) ?? 1);
  const command: CommandForm = {
    type,
    name: readName(form, fields.name, at("name"), type === 1),
    description: type === 1 ? (text(form, fields.description, at("description"), { min: 1, max: 100 }) ?? "") : "",
    options: readOptions(form, fields.options, at("options"), 0),
    defaultMemberPermissions: readPermissions(
      form,
      fields.default_member_permissions,
      at("default_member_permissions"),
    ),
    contexts: isAbsent(fields.contexts) ? null : readContexts(form, fields.contexts, at("contexts")),
    isNsfw: flag(form, fields.nsfw, at("nsfw")) ?? false,
  };
  if (sizeOf(command) > maxText) {
    form.wrong(path, "APPLICATION_COMMAND_TOO_LARGE", `Command exceeds maximum size (${maxText})`);
  }
  return command;
}

function readName(form: Form, value: unknown, path: FieldPath, isSlash: boolean): string {
  const name = text(form, value, path, { min: 1, max: 32 }) ?? "";
  const isValid = !isSlash || (namePattern.test(name) && name === name.toLowerCase());
  if (name !== "" && name.length <= 32 && !isValid) {
    form.wrong(path, "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid");
  }
  return name;
}

function readContexts(form: Form, value: unknown, path: FieldPath): number[] {
  return list(form, value, path, 3).flatMap((one, index) => choice(form, one, [...path, index], [0, 1, 2]) ?? []);
}

function readPermissions(form: Form, value: unknown, path: FieldPath): string | null {
  if (isAbsent(value)) return null;
  if (/^\d+$/.test(shown(value))) return shown(value);
  form.wrong(path, "NUMBER_TYPE_COERCE", `Value "${shown(value)}" is not int.`);
  return null;
}

/** `depth`: 0 of a command, 1 of a group or subcommand, 2 of a subcommand in a group. */
function readOptions(form: Form, value: unknown, path: FieldPath, depth: number): OptionForm[] {
  const options = list(form, value, path, 25).map((one, index) => readOption(form, one, [...path, index], depth));
  const names = new Set<string>();
  let isOptionalBefore = false;
  for (const [index, option] of options.entries()) {
    if (names.has(option.name)) {
      form.wrong([...path, index, "name"], "APPLICATION_COMMAND_OPTIONS_NAME_INVALID", "Option name must be unique");
    }
    names.add(option.name);
    if (option.required && isOptionalBefore) {
      const message = "Required options must be placed before non-required options";
      form.wrong([...path, index], "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", message);
    }
    isOptionalBefore ||= option.type > 2 && !option.required;
  }
  const isMixed = options.some(({ type }) => type <= 2) && options.some(({ type }) => type > 2);
  if (isMixed) {
    const message = "Sub-command and sub-command group option types are mutually exclusive to all other types";
    form.wrong(path, "APPLICATION_COMMAND_OPTIONS_TYPE_INVALID", message);
  }
  return options;
}

function readOption(form: Form, value: unknown, path: FieldPath, depth: number): OptionForm {
  const at = (...keys: FieldPath) => [...path, ...keys];
  const fields = fieldsOf(form, value, path) ?? {};
  const nested = depth === 0 ? [1, 2] : depth === 1 ? [1] : [];
  const type = choice(form, fields.type, at("type"), [...nested, 3, 4, 5, 6, 7, 8, 9, 10, 11]) ?? 3;
  const option: OptionForm = {
    type,
    name: readName(form, fields.name, at("name"), true),
    description: text(form, fields.description, at("description"), { min: 1, max: 100 }) ?? "",
  };
  if (type <= 2) return { ...option, options: readOptions(form, fields.options, at("options"), type === 2 ? 1 : 2) };
  if (flag(form, fields.required, at("required"))) option.required = true;
  if (flag(form, fields.autocomplete, at("autocomplete"))) option.autocomplete = true;
  if (!isAbsent(fields.choices)) option.choices = readChoices(form, fields.choices, at("choices"), type);
  const fileTypes = type === 11 ? readFileTypes(form, fields.file_types, at("file_types")) : undefined;
  return { ...option, ...readBounds(form, fields, path, type), ...(fileTypes && { file_types: fileTypes }) };
}

function readBounds(form: Form, fields: Fields, path: FieldPath, type: number): Partial<OptionForm> {
  const bounds: Partial<OptionForm> = {};
  const keys = type === 3 ? (["min_length", "max_length"] as const) : (["min_value", "max_value"] as const);
  for (const key of keys) {
    const limits = type === 3 ? { min: key === "max_length" ? 1 : 0, max: 6000 } : {};
    const read = type === 10 ? fields[key] : integer(form, fields[key], [...path, key], limits);
    if (typeof read === "number") bounds[key] = read;
  }
  return bounds;
}

function readChoices(
  form: Form,
  value: unknown,
  path: FieldPath,
  type: number,
): { name: string; value: string | number }[] {
  return list(form, value, path, 25).map((one, index) => {
    const fields = isFields(one) ? one : {};
    const at = (key: string) => [...path, index, key];
    const name = text(form, fields.name, at("name"), { min: 1, max: 100 }) ?? "";
    if (type === 3) return { name, value: text(form, fields.value, at("value"), { min: 1, max: 100 }) ?? "" };
    if (typeof fields.value !== "number") {
      form.wrong(at("value"), "NUMBER_TYPE_COERCE", `Value "${shown(fields.value)}" is not int.`);
    }
    return { name, value: Number(fields.value) };
  });
}

/** Names, descriptions and values of a command and everything in it. */
function sizeOf(
  part: Pick<CommandForm, "name" | "description"> & { options?: OptionForm[]; choices?: OptionForm["choices"] },
): number {
  const inner = (part.options ?? []).reduce((sum, option) => sum + sizeOf(option), 0);
  const choices = (part.choices ?? []).reduce((sum, one) => sum + one.name.length + String(one.value).length, 0);
  return part.name.length + part.description.length + inner + choices;
}
