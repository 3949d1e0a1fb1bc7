/** The modal of Hand over…: one menu of people. Who may answer is checked when it is submitted. */
import { z } from "zod";
import { beginningOf } from "../outbound/safe-text.ts";
import { type CardPlace, cardPlaceSchema, readMetadata } from "./card-place.ts";

export const handoverCallback = "remora_handover";

const blockId = "person";
const maxErrorLength = 1_500;

export function handoverModal(place: CardPlace): Record<string, unknown> {
  return {
    type: "modal",
    callback_id: handoverCallback,
    private_metadata: JSON.stringify(place),
    title: { type: "plain_text", text: "Hand over" },
    submit: { type: "plain_text", text: "Hand over" },
    close: { type: "plain_text", text: "Cancel" },
    blocks: [
      {
        type: "input",
        block_id: blockId,
        label: { type: "plain_text", text: "Who should answer?" },
        hint: { type: "plain_text", text: "Only somebody who can approve this. You can still answer too." },
        element: { type: "users_select", action_id: blockId },
      },
    ],
  };
}

const valuesSchema = z.object({
  [blockId]: z.object({ [blockId]: z.object({ selected_user: z.string().nullish() }) }),
});

export function readHandover(metadata: string, values: unknown): { place: CardPlace; to: string } | undefined {
  const place = readMetadata(metadata, cardPlaceSchema);
  const to = valuesSchema.safeParse(values).data?.[blockId]?.[blockId]?.selected_user ?? "";
  return place === undefined ? undefined : { place, to };
}

export function handoverRefused(text: string): Record<string, unknown> {
  return { response_action: "errors", errors: { [blockId]: beginningOf(text, maxErrorLength) } };
}
