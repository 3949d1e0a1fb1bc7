/** The modals in which people write freely: what was wrong after 👎, and the answer to a plugin's question. */
import { extensionsOf, maxAnswerCharacters } from "../../../ports/question.ts";
import type { AskedInWords } from "../../shared/form-contents.ts";
import type { View } from "../api/views.ts";
import { plainText } from "../outbound/blocks.ts";
import { bold, plain, quote, richText } from "../outbound/rich-text.ts";
import type { CardPlace } from "./card-place.ts";
import { formModal, inputBlock, inputError, readInputs } from "./form-modal.ts";

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

export const answerCallback = "remora_answer";
const answerBlock = "answer";
const filesBlock = "files";

/** Slack checks no kinds: its `filetypes` are a convenience, and so is the hint. */
export function answerModal(place: CardPlace, { head, question, words }: AskedInWords): View {
  const extensions = extensionsOf(words)?.map((extension) => extension.slice(1));
  const input = { type: "plain_text_input", multiline: true, max_length: maxAnswerCharacters };
  const upload = { type: "file_input", max_files: words.maxFiles, ...(extensions && { filetypes: extensions }) };
  const label = words.maxFiles === 1 ? "A file" : `Up to ${words.maxFiles} files`;
  const hint = words.fileTypes === undefined ? {} : { hint: plainText(`Only ${words.fileTypes.join(", ")}.`) };
  return formModal({
    callback: answerCallback,
    metadata: JSON.stringify(place),
    title: "Answer",
    submit: "Answer",
    blocks: [
      quote(bold(head), `“${question}”`),
      inputBlock(answerBlock, "Your answer", input, { optional: words.maxFiles > 0 }),
      ...(words.maxFiles === 0 ? [] : [inputBlock(filesBlock, label, upload, { optional: true, ...hint })]),
      richText([plain("An answer approves nothing.")]),
    ],
  });
}

/** The files as Slack describes them. */
export function readAnswer(values: unknown): { text: string; files: readonly unknown[] } {
  const inputs = readInputs(values);
  return { text: inputs.get(answerBlock)?.value?.trim() ?? "", files: inputs.get(filesBlock)?.files ?? [] };
}

export function answerRefused(text: string): View {
  return inputError(answerBlock, text);
}
