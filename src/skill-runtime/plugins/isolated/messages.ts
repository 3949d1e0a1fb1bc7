/** Parses messages from a plugin's process. Checks only their form, so their content is untrusted. */
import { z } from "zod";
import type { JsonObject } from "../../../ports/message.ts";

const error = z.object({
  name: z.string(),
  message: z.string(),
  code: z.string().optional(),
  status: z.number().optional(),
  retryAfterMs: z.number().optional(),
  isRetryable: z.boolean().optional(),
  get cause() {
    return error.optional();
  },
  get errors() {
    return z.array(error).optional();
  },
});

const id = z.number().int();
const fields = z.record(z.string(), z.json()).transform((value) => value as JsonObject);
const offeredTool = z.object({
  name: z.string(),
  description: z.string().default(""),
  parameters: z.unknown(),
  timeoutMs: z.number().exactOptional(),
  isTrusted: z.boolean().exactOptional(),
});

export const pluginMessage = z.discriminatedUnion("type", [
  z.object({ type: z.literal("ready") }),
  z.object({ type: z.literal("pong") }),
  z.object({ type: z.literal("failed"), error }),
  z.object({ type: z.literal("result"), id, value: z.unknown().optional() }),
  z.object({ type: z.literal("thrown"), id, error }),
  z.object({
    type: z.literal("ask"),
    id,
    call: id,
    service: z.enum(["memory", "chat", "schedules", "ask", "jobs", "commands"]),
    method: z.string(),
    args: z.array(z.json()),
  }),
  z.object({ type: z.literal("log"), level: z.enum(["debug", "info", "warn", "error"]), fields, message: z.string() }),
  z.object({
    type: z.literal("offer"),
    source: z.string(),
    offer: z.object({ tools: z.array(offeredTool).exactOptional(), problems: z.array(z.string()).exactOptional() }),
  }),
]);

export type PluginMessage = z.infer<typeof pluginMessage>;

export function thrownBy({ cause, errors, ...described }: z.infer<typeof error>): Error {
  const options = cause === undefined ? undefined : { cause: thrownBy(cause) };
  const thrown =
    errors === undefined
      ? new Error(described.message, options)
      : new AggregateError(errors.map(thrownBy), described.message, options);
  return Object.assign(thrown, described);
}
