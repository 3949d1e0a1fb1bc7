/** The modal of Edit…. A click carries only the approval's id, so the arguments are stored when the card is posted. */
import { z } from "zod";
import type { Store } from "../../../ports/store.ts";
import { maxInputLength } from "../limits.ts";
import { richText } from "../outbound/rich-text.ts";
import { beginningOf } from "../outbound/safe-text.ts";
import { type CardPlace, cardPlaceSchema, readMetadata } from "./card-place.ts";

export const editCallback = "remora_edit";

/** `joints` are the texts between one input and the next. */
const metadataSchema = cardPlaceSchema.extend({ joints: z.array(z.string()) });

const maxErrorLength = 1_500;
const keptMs = 30 * 86_400_000;

export interface EditDrafts {
  keep(approvalId: string, json: string): Promise<void>;
  take(approvalId: string): Promise<string | undefined>;
  drop(approvalId: string): Promise<void>;
}

export function createEditDrafts(store: Store): EditDrafts {
  const draftKey = (approvalId: string) => `slack:edit:${approvalId}`;
  return {
    keep: (approvalId, json) => store.set(draftKey(approvalId), json, keptMs),
    async take(approvalId) {
      const json = await store.get(draftKey(approvalId));
      return typeof json === "string" ? json : undefined;
    },
    drop: (approvalId) => store.delete(draftKey(approvalId)),
  };
}

export function editModal(place: CardPlace, json: string): Record<string, unknown> {
  const { texts, joints } = inputsOf(json);
  return {
    type: "modal",
    callback_id: editCallback,
    private_metadata: JSON.stringify({ ...place, joints }),
    title: { type: "plain_text", text: "Edit the call" },
    submit: { type: "plain_text", text: "Approve as edited" },
    close: { type: "plain_text", text: "Cancel" },
    blocks: [
      richText([
        { type: "text", text: "The arguments as JSON. Your edit is checked against the safety rules before it runs." },
      ]),
      ...texts.map((text, index) => ({
        type: "input",
        block_id: inputBlockId(index),
        optional: index > 0,
        label: {
          type: "plain_text",
          text: texts.length === 1 ? "Arguments" : `Arguments, part ${index + 1} of ${texts.length}`,
        },
        element: {
          type: "plain_text_input",
          action_id: "json",
          multiline: true,
          initial_value: text,
          max_length: maxInputLength,
        },
      })),
    ],
  };
}

export function readEdit(metadata: string, values: unknown): { place: CardPlace; json: string } | undefined {
  const parsed = readMetadata(metadata, metadataSchema);
  if (parsed === undefined) return undefined;
  const { joints, ...place } = parsed;
  const texts = Array.from({ length: joints.length + 1 }, (_, index) => textIn(values, inputBlockId(index)));
  const json = texts.map((text, index) => (joints[index - 1] ?? "") + text).join("");
  return { place, json };
}

export function editRefused(text: string): Record<string, unknown> {
  return { response_action: "errors", errors: { [inputBlockId(0)]: beginningOf(text, maxErrorLength) } };
}

function inputBlockId(index: number): string {
  return `arguments-${index}`;
}

/** Splits at line ends if possible, because Slack trims blanks at the ends of an input. */
function inputsOf(json: string): { texts: string[]; joints: string[] } {
  const texts: string[] = [];
  const joints: string[] = [];
  for (let rest = json; rest !== "" || texts.length === 0; ) {
    const { end, joint } = rest.length <= maxInputLength ? { end: rest.length, joint: "" } : cutOf(rest);
    texts.push(rest.slice(0, end));
    rest = rest.slice(end + joint.length);
    if (rest !== "") joints.push(joint);
  }
  return { texts, joints };
}

function cutOf(text: string): { end: number; joint: string } {
  const lineEnd = text.lastIndexOf("\n", maxInputLength);
  if (lineEnd > maxInputLength / 2) return { end: lineEnd, joint: "\n" };
  for (let end = maxInputLength; end > maxInputLength / 2; end--) {
    const isBetweenWords = !/[\s\uD800-\uDBFF]/.test(text[end - 1] ?? "") && !/\s/.test(text[end] ?? "");
    if (isBetweenWords) return { end, joint: "" };
  }
  return { end: maxInputLength, joint: "" };
}

function textIn(values: unknown, blockId: string): string {
  const schema = z.record(z.string(), z.record(z.string(), z.object({ value: z.string().nullish() })));
  const parsed = schema.safeParse(values);
  return parsed.data?.[blockId]?.json?.value ?? "";
}
