/** The form behind Choose files…: one menu with an option per file, all selected. */
import { type APISelectMenuOption, ComponentType } from "discord.js";
import { shorten, shortenStart } from "../../../lib/text/shorten.ts";
import type { ShownChange } from "../../../ports/card.ts";
import { aboutText } from "../../shared/changed-file.ts";
import type { FileChoice } from "../../shared/form-contents.ts";
import { maxOptionDescriptionLength, maxOptionLabelLength, maxOptions } from "../limits.ts";
import { visiblePath } from "../outbound/plain-text.ts";
import type { ButtonPlace } from "./custom-id.ts";
import { chosenIn, form, type Submitted } from "./form.ts";

const maxDenyLabelLength = 40;

/** `choice.files` must not be empty. Files after the 25th would be dropped, but no card has more. */
export function fileForm(id: string, place: ButtonPlace, choice: Pick<FileChoice, "files" | "denyLabel">) {
  const options = choice.files.slice(0, maxOptions).map(optionFor);
  return form({ meaning: { type: "chosen" }, ...place, id }, "Choose files to keep", [
    {
      label: "Files",
      description: `All files are selected. To keep none, use “${shorten(choice.denyLabel, maxDenyLabelLength)}”.`,
      component: {
        type: ComponentType.StringSelect,
        custom_id: "files",
        min_values: 1,
        max_values: options.length,
        options,
      },
    },
  ]);
}

/** A shortened path begins with the number that the file has on the card; the second line shows the path's start. */
function optionFor(file: ShownChange, index: number): APISelectMenuOption {
  const name = visiblePath(file.path);
  const about = [file.action, aboutText(file, true)].filter((part) => part !== "").join(" · ");
  const isWhole = name.length <= maxOptionLabelLength;
  const number = `${index + 1}. `;
  return {
    label: isWhole ? name : number + shortenStart(name, maxOptionLabelLength - number.length),
    description: shorten(isWhole ? about : `${about} · ${name}`, maxOptionDescriptionLength),
    value: String(index),
    default: true,
  };
}

/** Returns the indexes of the chosen files, in ascending order. */
export function chosenFiles(components: Submitted): number[] {
  const indexes = chosenIn(components)
    .filter((value) => /^\d{1,2}$/.test(value))
    .map(Number);
  return [...new Set(indexes)].sort((one, other) => one - other);
}
