/** The modal of Edit…: the arguments as JSON, in as many inputs as needed. */
import { z } from "zod";
import type { View } from "../api/views.ts";
import { maxInputLength } from "../limits.ts";
import { plain, richText } from "../outbound/rich-text.ts";
import { type CardPlace, cardPlaceSchema, readMetadata } from "./card-place.ts";
import { formModal, inputBlock, inputError, readInputs } from "./form-modal.ts";

export const editCallback = "remora_edit";

/** `joints` are the texts between one input and the next. */
const metadataSchema = cardPlaceSchema.extend({ joints: z.array(z.string()) });

export function editModal(place: CardPlace, json: string): View {
  const { texts, joints } = inputsOf(json);
  const note = "The arguments as JSON. Your edit is checked against the safety rules before it runs.";
  const inputs = texts.map((text, index) => {
    const label = texts.length === 1 ? "Arguments" : `Arguments, part ${index + 1} of ${texts.length}`;
    const limits = { multiline: true, max_length: maxInputLength };
    const element = { type: "plain_text_input", action_id: "json", initial_value: text, ...limits };
    return inputBlock(inputBlockId(index), label, element, { optional: index > 0 });
  });
  return formModal({
    callback: editCallback,
    metadata: JSON.stringify({ ...place, joints }),
    title: "Edit the call",
    submit: "Approve as edited",
    blocks: [richText([plain(note)]), ...inputs],
  });
}

export function readEdit(metadata: string, values: unknown): string | undefined {
  const parsed = readMetadata(metadata, metadataSchema);
  if (parsed === undefined) return undefined;
  const inputs = readInputs(values);
  const { joints } = parsed;
  const texts = Array.from({ length: joints.length + 1 }, (_, index) => inputs.get(inputBlockId(index))?.value ?? "");
  return texts.map((text, index) => (joints[index - 1] ?? "") + text).join("");
}

export function editRefused(text: string): View {
  return inputError(inputBlockId(0), text);
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
