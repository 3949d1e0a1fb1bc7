/** The bodies of the requests that change the chat. */
import { z } from "zod";
import { maxShownFiles } from "../../ports/card.ts";
import { answerChoices } from "../../ports/message.ts";
import { maxAttachments } from "./limits.ts";

export const identifier = z.string().regex(/^[A-Za-z0-9_-]{8,64}$/, "8 to 64 letters, digits, _ or -");

const spot = {
  person: z.string(),
  channel: z.string().optional(),
  dm: z.literal(true).optional(),
  thread: z.string().nullish(),
  /** The browser's. */
  timeZone: z.exactOptional(z.string().max(100)),
};
/** The id of an upload, or a file in Base64. */
const attachment = z.union([
  z.object({ upload: identifier }),
  z.object({ name: z.string().min(1).max(200), mimeType: z.string().max(100), base64: z.base64() }),
]);

export const bodies = {
  message: z.object({
    ...spot,
    id: identifier.optional(),
    text: z.string(),
    attachments: z.array(attachment).max(maxAttachments).default([]),
  }),
  edit: z.object({ person: z.string(), text: z.string() }),
  answer: z.object({
    person: z.string(),
    messageId: z.string(),
    cardOrApprovalId: z.string(),
    choice: z.enum(answerChoices),
    reason: z.exactOptional(z.string().max(2000)),
    editedJson: z.exactOptional(z.string()),
    to: z.exactOptional(z.string().max(200)),
    parts: z.exactOptional(z.array(z.int().min(0).lt(maxShownFiles)).max(maxShownFiles)),
  }),
  pick: z.object({
    person: z.string(),
    messageId: z.string(),
    questionId: z.string(),
    option: z.exactOptional(z.number().int().min(0)),
    said: z.exactOptional(
      z.object({
        text: z.string().max(10_000),
        attachments: z.array(z.object({ upload: identifier })).max(maxAttachments),
      }),
    ),
  }),
  footer: z.object({
    person: z.string(),
    messageId: z.string(),
    action: z.enum(["details", "retry", "good", "bad", "withdraw"]),
    text: z.exactOptional(z.string().max(1_000)),
  }),
  command: z.object({ ...spot, name: z.string().max(100), rest: z.string().default("") }),
  person: z.object({ name: z.string() }),
  channel: z.object({ name: z.string() }),
};

export type Body<Name extends keyof typeof bodies> = z.infer<(typeof bodies)[Name]>;
