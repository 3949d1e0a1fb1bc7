/** Modals as people see them and fill them in. The client validates input before it sends it. */
import type { APIModalInteractionResponseCallbackData } from "discord.js";
import type { ReadOption } from "./component-form.ts";
import { type GivenFile, isOfType } from "./uploads.ts";
import { itemsOf } from "./view.ts";

export interface SeenModal {
  customId: string;
  title: string;
  /** The texts between the fields. */
  texts: string[];
  inputs: SeenInput[];
  menus: SeenMenu[];
  /** Groups of ticks, which have no placeholder. */
  checkboxes: SeenMenu[];
  /** Custom ids of menus of people. An answer is a list of their ids. */
  userMenus: string[];
  uploads: SeenUpload[];
}

export interface SeenInput {
  customId: string;
  label: string;
  value: string;
  placeholder: string;
  isRequired: boolean;
  isParagraph: boolean;
  maxLength: number;
}

export interface SeenMenu {
  customId: string;
  label: string;
  description: string;
  options: ReadOption[];
  /** Values that are chosen at first. */
  chosen: string[];
  isRequired: boolean;
  least: number;
  most: number;
}

export interface SeenUpload {
  customId: string;
  label: string;
  description: string;
  isRequired: boolean;
  least: number;
  most: number;
  /** Groups and extensions; undefined if every file may be given. */
  fileTypes: string[] | undefined;
}

/** By custom id: a text, the chosen values of a menu or ticks, or the files of an upload. */
export type Answers = Record<string, string | string[] | GivenFile[]>;

type Modal = APIModalInteractionResponseCallbackData;
type Item = Record<string, unknown>;

const fieldTypes = [3, 4, 5, 19, 22];

export function seenModal(modal: Modal): SeenModal {
  const parts = modal.components as unknown[];
  const fields = <Seen>(type: number, see: (part: Item, item: Item) => Seen) =>
    parts.flatMap((part) => fieldsIn(part, [type]).map((item) => see(part as Item, item)));
  return {
    customId: modal.custom_id,
    title: modal.title,
    texts: fields(10, (part) => String(part.content)),
    inputs: fields(4, seenInput),
    menus: fields(3, seenMenu),
    checkboxes: fields(22, seenMenu),
    userMenus: fields(5, (_part, item) => String(item.custom_id)),
    uploads: fields(19, seenUpload),
  };
}

function fieldsIn(part: unknown, types: readonly number[]): Item[] {
  return itemsOf(part).filter((item) => types.includes(Number(item.type)));
}

function seenInput(part: Item, input: Item): SeenInput {
  return {
    customId: String(input.custom_id),
    label: String(part.label ?? input.label ?? ""),
    value: String(input.value ?? ""),
    placeholder: String(input.placeholder ?? ""),
    isRequired: input.required !== false,
    isParagraph: input.style === 2,
    maxLength: Number(input.max_length ?? 4000),
  };
}

/** What menus, ticks and uploads have in common. */
function seenChoice(part: Item, item: Item) {
  return {
    customId: String(item.custom_id),
    label: String(part.label ?? ""),
    description: String(part.description ?? ""),
    isRequired: item.required !== false,
    least: Number(item.min_values),
    most: Number(item.max_values),
  };
}

function seenMenu(part: Item, menu: Item): SeenMenu {
  const options = menu.options as ReadOption[];
  const chosen = options.filter((option) => option.default).map(({ value }) => value);
  return { ...seenChoice(part, menu), options, chosen };
}

function seenUpload(part: Item, upload: Item): SeenUpload {
  return { ...seenChoice(part, upload), fileTypes: upload.file_types as string[] | undefined };
}

/** The components of a modal as they are handed in. `upload` stores a given file and returns its id. */
export function filledIn(modal: Modal, answers: Answers, upload: (file: GivenFile) => string): object[] {
  const { inputs, menus, checkboxes, userMenus, uploads } = seenModal(modal);
  const filled = new Map<string, object>([
    ...inputs.map((input) => [input.customId, { type: 4, value: textFor(input, answers[input.customId]) }] as const),
    ...userMenus.map((id) => [id, { type: 5, values: chosenPeople(id, answers[id]) }] as const),
    ...menus.map((menu) => [menu.customId, { type: 3, values: valuesFor(menu, answers[menu.customId]) }] as const),
    ...checkboxes.map((box) => [box.customId, { type: 22, values: valuesFor(box, answers[box.customId]) }] as const),
    ...uploads.map(
      (each) => [each.customId, { type: 19, values: filesFor(each, answers[each.customId]).map(upload) }] as const,
    ),
  ]);
  for (const key of Object.keys(answers)) if (!filled.has(key)) throw new Error(`the modal has no input "${key}"`);
  return (modal.components as unknown[]).map((part, index) => {
    const id = index * 2 + 1;
    const { type } = part as { type: number };
    if (type === 10) return { type, id };
    const customId = String(fieldsIn(part, fieldTypes)[0]?.custom_id);
    const answer = { ...filled.get(customId), id: id + 1, custom_id: customId };
    return type === 18 ? { type, id, component: answer } : { type, id, components: [answer] };
  });
}

function chosenPeople(customId: string, answer: Answers[string] = []): string[] {
  if (!isTexts(answer) || answer.length !== 1) throw new Error(`menu "${customId}" takes one person`);
  return answer;
}

function textFor({ customId, value, isRequired, maxLength }: SeenInput, answer: Answers[string] = value): string {
  if (typeof answer !== "string") throw new Error(`input "${customId}" takes text`);
  if (isRequired && answer.length === 0) throw new Error(`input "${customId}" is required`);
  if (answer.length > maxLength)
    throw new Error(`input "${customId}" takes ${maxLength} characters, not ${answer.length}`);
  return answer;
}

function valuesFor(menu: SeenMenu, answer: Answers[string] = menu.chosen): string[] {
  const { customId, options } = menu;
  if (!isTexts(answer)) throw new Error(`menu "${customId}" takes values`);
  const unknown = answer.find((value) => !options.some((option) => option.value === value));
  if (unknown !== undefined) throw new Error(`menu "${customId}" has no value "${unknown}"`);
  demandCount(menu, answer.length);
  return answer;
}

function filesFor(upload: SeenUpload, answer: Answers[string] = []): GivenFile[] {
  const files = answer as GivenFile[];
  const wrong = files.find(({ name }) => !isOfType(name, upload.fileTypes));
  if (wrong !== undefined) throw new Error(`upload "${upload.customId}" does not take ${wrong.name}`);
  demandCount(upload, files.length);
  return files;
}

function demandCount({ customId, isRequired, least, most }: Omit<SeenUpload, "fileTypes">, count: number): void {
  const isLeftOut = count === 0 && !isRequired;
  if (!isLeftOut && (count < least || count > most))
    throw new Error(`menu "${customId}" takes ${least} to ${most} values, not ${count}`);
}

function isTexts(answer: Answers[string]): answer is string[] {
  return Array.isArray(answer) && answer.every((each) => typeof each === "string");
}
