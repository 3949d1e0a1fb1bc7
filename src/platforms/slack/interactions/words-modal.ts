/** The modal after 👎: one optional field for what was wrong. */
import type { View } from "../api/views.ts";
import { formModal, inputBlock, readInputs } from "./form-modal.ts";

export const wordsCallback = "remora.footer.words";
const wordsBlock = "words";
const maxWordsLength = 1_000;

export function wordsModal(turnId: string): View {
  const element = { type: "plain_text_input", action_id: "text", multiline: true, max_length: maxWordsLength };
  const label = "I noted your 👎. What was wrong with this answer?";
  return formModal({
    callback: wordsCallback,
    metadata: turnId,
    title: "What was wrong?",
    submit: "Send",
    close: "Skip",
    blocks: [inputBlock(wordsBlock, label, element, { optional: true })],
  });
}

/** Returns undefined if nothing was written. */
export function readWords(values: unknown): string | undefined {
  const text = readInputs(values).get(wordsBlock)?.value?.trim() ?? "";
  return text === "" ? undefined : text.slice(0, maxWordsLength);
}
