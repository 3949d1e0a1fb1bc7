/** The form behind Choose files…: one menu with an option a file, all of them chosen at first. */
import {
  type APIModalInteractionResponseCallbackData,
  type APIModalSubmissionComponent,
  type APISelectMenuOption,
  ComponentType,
} from "discord.js";
import type { ShownChange } from "../../../ports/approval.ts";
import { clip, clipStart, visiblePath } from "../outbound/plain-text.ts";
import { formatButtonId } from "./custom-id.ts";
import type { FileChoice } from "./form-contents.ts";

/** Discord's limits, in characters: of an option's label and of its description. */
const maxOptionLabel = 100;
const maxOptionDescription = 100;
const maxOptions = 25;
const maxDenyLabel = 40;
const menuId = "files";

/** `choice.files` must not be empty. Files beyond the 25th, which no card has, are not offered. */
export function fileForm(options: {
  approvalId: string;
  thread: string | null;
  firstMessage?: string;
  choice: FileChoice;
}): APIModalInteractionResponseCallbackData {
  const { choice, approvalId, ...place } = options;
  const files = choice.files.slice(0, maxOptions);
  return {
    custom_id: formatButtonId({ meaning: { type: "chosen" }, ...place, id: approvalId }),
    title: "Choose files to keep",
    components: [
      {
        type: ComponentType.Label,
        label: "Files",
        description: `All files are selected. To keep none, use “${clip(choice.denyLabel, maxDenyLabel)}”.`,
        component: {
          type: ComponentType.StringSelect,
          custom_id: menuId,
          min_values: 1,
          max_values: files.length,
          options: files.map(optionFor),
        },
      },
    ],
  };
}

/** A path that is cut has its number on the card, and its beginning in the second line. */
function optionFor({ path, action, detail }: ShownChange, index: number): APISelectMenuOption {
  const name = visiblePath(path);
  const about = detail === "" ? action : `${action} · ${detail}`;
  const isWhole = name.length <= maxOptionLabel;
  const number = `${index + 1}. `;
  return {
    label: isWhole ? name : number + clipStart(name, maxOptionLabel - number.length),
    description: clip(isWhole ? about : `${about} · ${name}`, maxOptionDescription),
    value: String(index),
    default: true,
  };
}

/** Indexes into the files, ascending; empty when none was chosen. */
export function chosenFiles(components: readonly APIModalSubmissionComponent[]): number[] {
  const values = components.flatMap((part) => {
    const menu = part.type === ComponentType.Label ? part.component : undefined;
    return menu?.type === ComponentType.StringSelect && menu.custom_id === menuId ? menu.values : [];
  });
  const indexes = values.filter((value) => /^\d{1,2}$/.test(value)).map(Number);
  return [...new Set(indexes)].sort((one, other) => one - other);
}
