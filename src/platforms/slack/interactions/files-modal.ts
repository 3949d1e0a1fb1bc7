/** The modal of Choose files…. A click carries only the approval's id, so the list is stored with the card. */
import { z } from "zod";
import { type ApprovalCard, type CardItem, maxShownFiles, type ShownChange } from "../../../ports/card.ts";
import type { Store } from "../../../ports/store.ts";
import { maxButtonLabelLength, maxCheckboxes, maxOptionLength } from "../limits.ts";
import { choiceLabel } from "../outbound/cards/card-buttons.ts";
import { changeActions, changeHeadings, counted } from "../outbound/cards/change-blocks.ts";
import type { Block } from "../outbound/render.ts";
import { italic, plain, richText } from "../outbound/rich-text.ts";
import { beginningOf, endOf, middleCut } from "../outbound/safe-text.ts";
import { type CardPlace, cardPlaceSchema, readMetadata } from "./card-place.ts";

export const filesCallback = "remora_files";

/** Paths longer than this do not fit into an option, so they are shown below the options. */
const maxPathLength = 1_000;
const maxErrorLength = 1_500;
const keptMs = 30 * 86_400_000;

const listSchema = z.object({
  files: z.array(z.object({ path: z.string(), action: z.enum(["deleted", "changed", "added"]), detail: z.string() })),
  moreFiles: z.number(),
  denyLabel: z.string(),
});
/** An answer contains indexes into `files`, which are in the card's order. */
export type FileList = z.infer<typeof listSchema>;

const metadataSchema = cardPlaceSchema.extend({ denyLabel: z.string() });

export interface FileLists {
  keep(approvalId: string, list: FileList): Promise<void>;
  take(approvalId: string): Promise<FileList | undefined>;
  drop(approvalId: string): Promise<void>;
}

export function createFileLists(store: Store): FileLists {
  const listKey = (approvalId: string) => `slack:files:${approvalId}`;
  return {
    keep: (approvalId, list) => store.set(listKey(approvalId), list, keptMs),
    take: async (approvalId) => listSchema.safeParse(await store.get(listKey(approvalId))).data,
    drop: (approvalId) => store.delete(listKey(approvalId)),
  };
}

export function fileListOf(item: ApprovalCard["items"][number]): FileList | undefined {
  const { changes, choices } = item;
  if (changes === undefined || !choices.includes("part")) return undefined;
  const files = changes.files.slice(0, maxShownFiles);
  const moreFiles = changes.moreFiles + changes.files.length - files.length;
  return { files, moreFiles, denyLabel: denyLabelOf(item) };
}

function denyLabelOf(item: CardItem): string {
  return beginningOf(choiceLabel("deny", item), maxButtonLabelLength);
}

export function filesModal(place: CardPlace, { files, moreFiles, denyLabel }: FileList): Record<string, unknown> {
  const groups = checkboxGroups(files);
  const more = `Not listed and not kept: ${counted(moreFiles, "more file")}.`;
  return {
    type: "modal",
    callback_id: filesCallback,
    private_metadata: JSON.stringify({ ...place, denyLabel }),
    title: { type: "plain_text", text: "Choose files" },
    submit: { type: "plain_text", text: "Keep chosen files" },
    close: { type: "plain_text", text: "Cancel" },
    blocks: [
      richText([plain("Ticked files are kept. Changes to the others are discarded.")]),
      ...groups.flatMap((group, index) => groupBlocks(group, index)),
      ...(moreFiles === 0 ? [] : [richText([italic(more)])]),
    ],
  };
}

export function readFiles(
  metadata: string,
  values: unknown,
): { place: CardPlace; parts: number[]; denyLabel: string } | undefined {
  const parsed = readMetadata(metadata, metadataSchema);
  if (parsed === undefined) return undefined;
  const { denyLabel, ...place } = parsed;
  return { place, parts: chosenIn(values), denyLabel };
}

export function filesRefused(text: string): Record<string, unknown> {
  return { response_action: "errors", errors: { [groupBlockId(0)]: beginningOf(text, maxErrorLength) } };
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

function checkboxGroups(files: FileList["files"]): Group[] {
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
  const paths = long.map(({ file, index }) => `${index + 1}. ${middleCut(file.path, maxPathLength)}`);
  return [
    {
      type: "input",
      block_id: groupBlockId(number),
      optional: true,
      label: { type: "plain_text", text: label, emoji: false },
      element: { type: "checkboxes", action_id: groupBlockId(number), options, initial_options: options },
    },
    ...(paths.length === 0 ? [] : [richText([italic(paths.join("\n"))])]),
  ];
}

/** Shortens a long path to its end, and adds the file's number, under which the full path is listed. */
function optionOf({ file: { path, detail }, index }: Entry) {
  const number = `${index + 1}. …`;
  const isShort = path.length <= maxOptionLength;
  const text = isShort ? path : `${number}${endOf(path, maxOptionLength - number.length)}`;
  const description = { type: "plain_text", text: middleCut(detail, maxOptionLength), emoji: false };
  return {
    text: { type: "plain_text", text, emoji: false },
    value: String(index),
    ...(detail === "" ? {} : { description }),
  };
}

function groupBlockId(number: number): string {
  return `files-${number}`;
}

const chosenSchema = z.record(
  z.string(),
  z.record(z.string(), z.object({ selected_options: z.array(z.object({ value: z.string() })).nullish() })),
);

function chosenIn(values: unknown): number[] {
  const blocks = Object.entries(chosenSchema.safeParse(values).data ?? {});
  const options = blocks.flatMap(([, elements]) =>
    Object.values(elements).flatMap((element) => element.selected_options ?? []),
  );
  const indexes = options.map(({ value }) => Number(value)).filter((index) => Number.isInteger(index) && index >= 0);
  return [...new Set(indexes)].sort((one, other) => one - other);
}
