/** The modals behind Deny with reason…, Allow… and Hand over…. Who may answer is checked when they are submitted. */
import type { View } from "../api/views.ts";
import { maxInputLength, maxTextObjectLength } from "../limits.ts";
import { modal, plainText } from "../outbound/blocks.ts";
import { plain, richText } from "../outbound/rich-text.ts";
import { beginningOf } from "../outbound/safe-text.ts";
import type { CardPlace } from "./card-place.ts";
import { formModal, inputBlock, inputError, readInputs } from "./form-modal.ts";

export const reasonCallback = "remora_reason";
export const allowCallback = "remora_allow_form";
export const handoverCallback = "remora_handover";

const reasonBlock = "reason";
const personBlock = "person";
const maxReasonLength = 2_000;
const allowTitle = "Allow without asking";

export function reasonModal(place: CardPlace): View {
  const maxLength = Math.min(maxReasonLength, maxInputLength);
  const element = { type: "plain_text_input", multiline: true, max_length: maxLength };
  return formModal({
    callback: reasonCallback,
    metadata: JSON.stringify(place),
    title: "Deny with reason",
    submit: "Deny",
    blocks: [inputBlock(reasonBlock, "Why not? Remora reads this and can try something else.", element)],
  });
}

export function readReason(values: unknown): string {
  return readInputs(values).get(reasonBlock)?.value?.trim() ?? "";
}

export function reasonRefused(text: string): View {
  return inputError(reasonBlock, text);
}

export function handoverModal(place: CardPlace): View {
  const hint = plainText("Only somebody who can approve this. You can still answer too.");
  return formModal({
    callback: handoverCallback,
    metadata: JSON.stringify(place),
    title: "Hand over",
    submit: "Hand over",
    blocks: [inputBlock(personBlock, "Who should answer?", { type: "users_select" }, { hint })],
  });
}

/** The id of the chosen person; empty if none was chosen. */
export function readPerson(values: unknown): string {
  return readInputs(values).get(personBlock)?.selected_user ?? "";
}

export function handoverRefused(text: string): View {
  return inputError(personBlock, text);
}

export function allowModal(place: CardPlace, grantText: string): View {
  return formModal({
    callback: allowCallback,
    metadata: JSON.stringify(place),
    title: allowTitle,
    submit: "Allow",
    blocks: [
      richText([plain(beginningOf(grantText, maxTextObjectLength))]),
      richText([plain("This also approves what is on the card. You can end it there at any time.")]),
    ],
  });
}

/** The modal has no input to mark, so it shows the text instead. */
export function allowRefused(text: string): View {
  const blocks = [richText([plain(beginningOf(text, maxTextObjectLength))])];
  return { response_action: "update", view: modal(allowTitle, blocks) };
}
