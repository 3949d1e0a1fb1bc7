/** Where a card stands, carried through a modal in its private metadata, of which Slack keeps 3,000 characters. */
import { z } from "zod";

export const cardPlaceSchema = z.object({
  approvalId: z.string(),
  conversationId: z.string(),
  /** Absent for a click on a card's further messages. */
  messageId: z.string().optional(),
  channel: z.string(),
  thread: z.string().nullable(),
});
export type CardPlace = z.infer<typeof cardPlaceSchema>;

/** Undefined when it is not what one of our modals carries. */
export function readMetadata<Metadata>(metadata: string, schema: z.ZodType<Metadata>): Metadata | undefined {
  try {
    return schema.safeParse(JSON.parse(metadata)).data;
  } catch {
    return undefined;
  }
}
