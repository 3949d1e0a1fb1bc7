/** The modal after 👎: one optional field for what was wrong. */
import { z } from "zod";

export const wordsCallback = "remora.footer.words";
const fieldBlock = "words";
const fieldAction = "text";
const maxWordsLength = 1_000;

const valuesSchema = z.object({
  [fieldBlock]: z.object({ [fieldAction]: z.object({ value: z.string().nullish() }) }),
});

export function wordsModal(turnId: string): Record<string, unknown> {
  const plain = (text: string) => ({ type: "plain_text", text });
  return {
    type: "modal",
    callback_id: wordsCallback,
    private_metadata: turnId,
    title: plain("What was wrong?"),
    submit: plain("Send"),
    close: plain("Skip"),
    blocks: [
      {
        type: "input",
        block_id: fieldBlock,
        optional: true,
        label: plain("I noted your 👎. What was wrong with this answer?"),
        element: { type: "plain_text_input", action_id: fieldAction, multiline: true, max_length: maxWordsLength },
      },
    ],
  };
}

/** Returns undefined if nothing was written. */
export function readWords(values: unknown): string | undefined {
  const { data } = valuesSchema.safeParse(values);
  const text = data?.[fieldBlock][fieldAction].value?.trim() ?? "";
  return text === "" ? undefined : text.slice(0, maxWordsLength);
}
