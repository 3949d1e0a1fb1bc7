/** The modals behind Deny with reason… and Allow…, which a person confirms. */
import { z } from "zod";
import { maxInputLength, maxTextObjectLength } from "../limits.ts";
import { plain, richText } from "../outbound/rich-text.ts";
import { beginningOf } from "../outbound/safe-text.ts";
import { type CardPlace, cardPlaceSchema, readMetadata } from "./card-place.ts";

export const reasonCallback = "remora_reason";
export const allowCallback = "remora_allow_form";

const reasonBlock = "reason";
const maxErrorLength = 1_500;
const maxReasonLength = 2_000;

export function reasonModal(place: CardPlace): Record<string, unknown> {
  return {
    type: "modal",
    callback_id: reasonCallback,
    private_metadata: JSON.stringify(place),
    title: { type: "plain_text", text: "Deny with reason" },
    submit: { type: "plain_text", text: "Deny" },
    close: { type: "plain_text", text: "Cancel" },
    blocks: [
      {
        type: "input",
        block_id: reasonBlock,
        label: { type: "plain_text", text: "Why not? Remora reads this and can try something else." },
        element: {
          type: "plain_text_input",
          action_id: reasonBlock,
          multiline: true,
          max_length: Math.min(maxReasonLength, maxInputLength),
        },
      },
    ],
  };
}

export function allowModal(place: CardPlace, grantText: string): Record<string, unknown> {
  return {
    type: "modal",
    callback_id: allowCallback,
    private_metadata: JSON.stringify(place),
    title: { type: "plain_text", text: "Allow without asking" },
    submit: { type: "plain_text", text: "Allow" },
    close: { type: "plain_text", text: "Cancel" },
    blocks: [
      richText([plain(beginningOf(grantText, maxTextObjectLength))]),
      richText([plain("This also approves the call on the card. You can end it there at any time.")]),
    ],
  };
}

export function readPlace(metadata: string): CardPlace | undefined {
  return readMetadata(metadata, cardPlaceSchema);
}

const reasonSchema = z.object({
  [reasonBlock]: z.object({ [reasonBlock]: z.object({ value: z.string().nullish() }) }),
});

export function readReason(values: unknown): string {
  return reasonSchema.safeParse(values).data?.[reasonBlock]?.[reasonBlock]?.value?.trim() ?? "";
}

export function reasonRefused(text: string): Record<string, unknown> {
  return { response_action: "errors", errors: { [reasonBlock]: beginningOf(text, maxErrorLength) } };
}

/** The modal has no input to mark, so it shows the text instead. */
export function allowRefused(text: string): Record<string, unknown> {
  const view = {
    type: "modal",
    title: { type: "plain_text", text: "Allow without asking" },
    close: { type: "plain_text", text: "Close" },
    blocks: [richText([plain(beginningOf(text, maxTextObjectLength))])],
  };
  return { response_action: "update", view };
}
