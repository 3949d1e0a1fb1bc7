/** The form behind Choose files…: a tick per file, all ticked, or one menu if there are more files than ticks. */
import { type APISelectMenuOption, ComponentType } from "discord.js";
import { shorten, shortenStart } from "../../../lib/text/shorten.ts";
import type { ShownChange } from "../../../ports/card.ts";
import { aboutText } from "../../shared/changed-file.ts";
import type { FileChoice } from "../../shared/form-contents.ts";
import { maxCheckboxes, maxOptionDescriptionLength, maxOptionLabelLength, maxOptions } from "../limits.ts";
import { visiblePath } from "../outbound/plain-text.ts";
import type { ButtonPlace } from "./custom-id.ts";
import { chosenIn, form, type Submitted } from "./form.ts";

const maxDenyLabelLength = 40;

/** `choice.files` must not be empty. Files after the 25th would be dropped, but no card has more. */
export function fileForm(id: string, place: ButtonPlace, { files, moreFiles, denyLabel }: FileChoice) {
  const options = files.slice(0, maxOptions).map(optionFor);
  const isShort = options.length <= maxCheckboxes;
  const common = { custom_id: "files", min_values: 1, max_values: options.length, options };
  const [what, more] = [isShort ? "Ticked" : "Selected", moreFiles === 1 ? "1 more file" : `${moreFiles} more files`];
  const covered = `${what} files are kept. Changes to the others are discarded.`;
  return form({ meaning: { type: "chosen" }, ...place, id }, "Choose files to keep", [
    moreFiles === 0 ? covered : `${covered} Not listed and not kept: ${more}.`,
    {
      label: "Files",
      description: `To keep none, use “${shorten(denyLabel, maxDenyLabelLength)}”.`,
      component: isShort
        ? { type: ComponentType.CheckboxGroup, ...common }
        : { type: ComponentType.StringSelect, ...common },
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
