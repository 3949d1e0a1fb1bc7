/** Modals as people see them and fill them in. The client validates input before it sends it. */
import type { APIModalInteractionResponseCallbackData } from "discord.js";
import type { ReadOption } from "./component-form.ts";
import { itemsOf } from "./view.ts";

export interface SeenModal {
  customId: string;
  title: string;
  inputs: SeenInput[];
  menus: SeenMenu[];
  /** Custom ids of menus of people. An answer is a list of their ids. */
  userMenus: string[];
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

/** By custom id: a text, or the chosen values of a menu. */
export type Answers = Record<string, string | string[]>;

type Modal = APIModalInteractionResponseCallbackData;
type Item = Record<string, unknown>;

export function seenModal(modal: Modal): SeenModal {
  const parts = modal.components as unknown[];
  return {
    customId: modal.custom_id,
    title: modal.title,
    inputs: parts.flatMap((part) => fieldsIn(part, 4).map((item) => seenInput(part as Item, item))),
    menus: parts.flatMap((part) => fieldsIn(part, 3).map((item) => seenMenu(part as Item, item))),
    userMenus: parts.flatMap((part) => fieldsIn(part, 5).map((item) => String(item.custom_id))),
  };
}

function fieldsIn(part: unknown, type: number): Item[] {
  return itemsOf(part).filter((item) => item.type === type);
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

function seenMenu(part: Item, menu: Item): SeenMenu {
  const options = menu.options as ReadOption[];
  return {
    customId: String(menu.custom_id),
    label: String(part.label ?? ""),
    description: String(part.description ?? ""),
    options,
    chosen: options.filter((option) => option.default).map(({ value }) => value),
    isRequired: menu.required !== false,
    least: Number(menu.min_values),
    most: Number(menu.max_values),
  };
}

/** The components of a modal as they are handed in. */
export function filledIn(modal: Modal, answers: Answers): object[] {
  const { inputs, menus, userMenus } = seenModal(modal);
  const known = [...[...inputs, ...menus].map(({ customId }) => customId), ...userMenus];
  for (const key of Object.keys(answers)) if (!known.includes(key)) throw new Error(`the modal has no input "${key}"`);
  const filled = new Map<string, object>([
    ...inputs.map((input) => [input.customId, { type: 4, value: textFor(input, answers[input.customId]) }] as const),
    ...userMenus.map((id) => [id, { type: 5, values: chosenPeople(id, answers[id]) }] as const),
    ...menus.map((menu) => [menu.customId, { type: 3, values: valuesFor(menu, answers[menu.customId]) }] as const),
  ]);
  return (modal.components as unknown[]).map((part, index) => {
    const id = index * 2 + 1;
    const { type } = part as { type: number };
    if (type === 10) return { type, id };
    const customId = String([...fieldsIn(part, 4), ...fieldsIn(part, 3), ...fieldsIn(part, 5)][0]?.custom_id);
    const answer = { ...filled.get(customId), id: id + 1, custom_id: customId };
    return type === 18 ? { type, id, component: answer } : { type, id, components: [answer] };
  });
}

function chosenPeople(customId: string, answer: string | string[] = []): string[] {
  if (typeof answer === "string" || answer.length !== 1) throw new Error(`menu "${customId}" takes one person`);
  return answer;
}

function textFor({ customId, value, isRequired, maxLength }: SeenInput, answer: string | string[] = value): string {
  if (typeof answer !== "string") throw new Error(`input "${customId}" takes text`);
  if (isRequired && answer.length === 0) throw new Error(`input "${customId}" is required`);
  if (answer.length > maxLength)
    throw new Error(`input "${customId}" takes ${maxLength} characters, not ${answer.length}`);
  return answer;
}

function valuesFor(menu: SeenMenu, answer: string | string[] = menu.chosen): string[] {
  const { customId, options, isRequired, least, most } = menu;
  if (typeof answer === "string") throw new Error(`menu "${customId}" takes values`);
  const unknown = answer.find((value) => !options.some((option) => option.value === value));
  if (unknown !== undefined) throw new Error(`menu "${customId}" has no value "${unknown}"`);
  const isLeftOut = answer.length === 0 && !isRequired;
  if (!isLeftOut && (answer.length < least || answer.length > most))
    throw new Error(`menu "${customId}" takes ${least} to ${most} values, not ${answer.length}`);
  return answer;
}
