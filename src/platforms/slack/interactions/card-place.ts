/** A card's place, which a modal carries in its private metadata (at most 3,000 characters). */
import { z } from "zod";
import { parseJson } from "../../../lib/json.ts";

export const cardPlaceSchema = z.object({
  approvalId: z.string(),
  conversationId: z.string(),
  /** Absent if the click was on one of the card's later messages. */
  messageId: z.string().optional(),
  channel: z.string(),
  thread: z.string().nullable(),
});
export type CardPlace = z.infer<typeof cardPlaceSchema>;

export function readMetadata<Metadata>(metadata: string, schema: z.ZodType<Metadata>): Metadata | undefined {
  return schema.safeParse(parseJson(metadata)).data;
}
