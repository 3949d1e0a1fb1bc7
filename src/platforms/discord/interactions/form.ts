/** Forms: their texts and fields, and what people entered. */
import {
  type APIAttachment,
  type APIComponentInLabel,
  type APIInteractionDataResolved,
  type APIModalInteractionResponseCallbackData,
  type APIModalSubmissionComponent,
  ComponentType,
} from "discord.js";
import { type ButtonId, formatButtonId } from "./custom-id.ts";

export interface Field {
  label: string;
  description?: string;
  component: APIComponentInLabel;
}

/** `id` says what the form submits. A text stands between the fields; it must be escaped. */
export function form(id: ButtonId, title: string, parts: (Field | string)[]): APIModalInteractionResponseCallbackData {
  const components = parts.map((part) =>
    typeof part === "string"
      ? { type: ComponentType.TextDisplay as const, content: part }
      : { type: ComponentType.Label as const, ...part },
  );
  return { custom_id: formatButtonId(id), title, components };
}

export type Submitted = readonly APIModalSubmissionComponent[];

function enteredIn(components: Submitted) {
  return components.flatMap((part) => (part.type === ComponentType.Label ? [part.component] : []));
}

/** The texts of the inputs whose ids begin with `id`, in the order of their ids. */
export function textsIn(components: Submitted, id: string): string[] {
  return enteredIn(components)
    .flatMap((input) => (input.type === ComponentType.TextInput && input.custom_id.startsWith(id) ? [input] : []))
    .sort((one, other) => one.custom_id.localeCompare(other.custom_id))
    .map(({ value }) => value);
}

/** What was chosen in the form's menu, or ticked. */
export function chosenIn(components: Submitted): string[] {
  return enteredIn(components).flatMap((menu) => ("values" in menu ? menu.values : []));
}

/** The files that were given, without what Discord says nothing about. */
export function filesIn(components: Submitted, resolved: APIInteractionDataResolved | undefined): APIAttachment[] {
  const ids = enteredIn(components).flatMap((field) => (field.type === ComponentType.FileUpload ? field.values : []));
  return [...new Set(ids)].flatMap((id) => resolved?.attachments?.[id] ?? []);
}
