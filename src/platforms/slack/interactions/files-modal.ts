/** The modal of Choose files…: a checkbox for each file, all ticked. */
import { z } from "zod";
import { shorten, shortenMiddle } from "../../../lib/text/shorten.ts";
import type { ShownChange } from "../../../ports/card.ts";
import { aboutText } from "../../shared/changed-file.ts";
import type { FileChoice } from "../../shared/form-contents.ts";
import type { View } from "../api/views.ts";
import { maxButtonLabelLength, maxCheckboxes, maxOptionLength } from "../limits.ts";
import { plainText } from "../outbound/blocks.ts";
import { changeActions, changeHeadings, counted } from "../outbound/cards/change-blocks.ts";
import type { Block } from "../outbound/render.ts";
import { italic, plain, richText } from "../outbound/rich-text.ts";
import { beginningOf, endOf } from "../outbound/safe-text.ts";
import { type CardPlace, cardPlaceSchema, readMetadata } from "./card-place.ts";
import { formModal, inputBlock, inputError, readInputs } from "./form-modal.ts";

export const filesCallback = "remora_files";

/** Paths longer than this do not fit into an option, so they are shown below the options. */
const maxPathLength = 1_000;

const metadataSchema = cardPlaceSchema.extend({ denyLabel: z.string() });

export function filesModal(place: CardPlace, { files, moreFiles, denyLabel }: FileChoice): View {
  const more = `Not listed and not kept: ${counted(moreFiles, "more file")}.`;
  return formModal({
    callback: filesCallback,
    metadata: JSON.stringify({ ...place, denyLabel: beginningOf(denyLabel || "Deny", maxButtonLabelLength) }),
    title: "Choose files",
    submit: "Keep chosen files",
    blocks: [
      richText([plain("Ticked files are kept. Changes to the others are discarded.")]),
      ...checkboxGroups(files).flatMap((group, index) => groupBlocks(group, index)),
      ...(moreFiles === 0 ? [] : [richText([italic(more)])]),
    ],
  });
}

/** The indexes of the ticked files, in ascending order. */
export function readFiles(metadata: string, values: unknown): { parts: number[]; denyLabel: string } | undefined {
  const parsed = readMetadata(metadata, metadataSchema);
  return parsed && { parts: chosenIn(values), denyLabel: parsed.denyLabel };
}

export function filesRefused(text: string): View {
  return inputError(groupBlockId(0), text);
}

export function noFilesText(denyLabel: string): string {
  return `Choose at least one file. To keep none, cancel and press ${denyLabel} on the card.`;
}

interface Entry {
  file: ShownChange;
  index: number;
}

interface Group {
  label: string;
  entries: Entry[];
}

function checkboxGroups(files: readonly ShownChange[]): Group[] {
  const all = files.map((file, index) => ({ file, index }));
  return changeActions.flatMap((action) => {
    const entries = all.filter(({ file }) => file.action === action);
    const count = Math.ceil(entries.length / maxCheckboxes);
    return Array.from({ length: count }, (_, number) => ({
      label: count === 1 ? changeHeadings[action] : `${changeHeadings[action]}, part ${number + 1} of ${count}`,
      entries: entries.slice(number * maxCheckboxes, (number + 1) * maxCheckboxes),
    }));
  });
}

function groupBlocks({ label, entries }: Group, number: number): Block[] {
  const options = entries.map(optionOf);
  const long = entries.filter(({ file }) => file.path.length > maxOptionLength);
  const paths = long.map(({ file, index }) => `${index + 1}. ${shortenMiddle(file.path, maxPathLength)}`);
  const element = { type: "checkboxes", options, initial_options: options };
  return [
    inputBlock(groupBlockId(number), label, element, { optional: true }),
    ...(paths.length === 0 ? [] : [richText([italic(paths.join("\n"))])]),
  ];
}

/** Shortens a long path to its end, and adds the file's number, under which the full path is listed. */
function optionOf({ file, index }: Entry) {
  const { path } = file;
  const number = `${index + 1}. …`;
  const isShort = path.length <= maxOptionLength;
  const text = isShort ? path : `${number}${endOf(path, maxOptionLength - number.length)}`;
  const about = shorten(aboutText(file, true), maxOptionLength);
  return {
    text: plainText(text),
    value: String(index),
    ...(about === "" ? {} : { description: plainText(about) }),
  };
}

function groupBlockId(number: number): string {
  return `files-${number}`;
}

function chosenIn(values: unknown): number[] {
  const options = [...readInputs(values).values()].flatMap((input) => input.selected_options ?? []);
  const indexes = options.map(({ value }) => Number(value)).filter((index) => Number.isInteger(index) && index >= 0);
  return [...new Set(indexes)].sort((one, other) => one - other);
}
