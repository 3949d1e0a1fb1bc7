/** Reads what is sent to Anthropic's Messages API and what it answers. */
import { z } from "zod";

const block = z.looseObject({ type: z.string() });
export type Block = z.infer<typeof block>;
const contents = z.union([z.string(), z.array(block)]);
const message = z.looseObject({ role: z.string(), content: contents });
const frame = z.looseObject({ type: z.string() });

export function messagesIn(body: Record<string, unknown>): { role: string; blocks: Block[] }[] {
  const messages = z.array(message).safeParse(body.messages);
  return (messages.data ?? []).map(({ role, content }) => ({ role, blocks: blocksIn(content) }));
}

/** Of a message or a result. */
export function blocksIn(content: unknown): Block[] {
  const read = contents.safeParse(content);
  if (!read.success) return [];
  return typeof read.data === "string" ? [{ type: "text", text: read.data }] : read.data;
}

export function isThinking({ type }: Block): boolean {
  return type === "thinking" || type === "redacted_thinking";
}

export type Frame = z.infer<typeof frame>;

export function framesIn(answer: string): Frame[] {
  return answer.split("\n\n").flatMap((text) => {
    const data = /^data: (.*)$/m.exec(text)?.[1];
    const read = data === undefined ? undefined : frame.safeParse(parsed(data));
    return read?.success ? [read.data] : [];
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const delta = z.looseObject({
  text: z.string().default(""),
  thinking: z.string().default(""),
  signature: z.string().default(""),
});

/** The blocks of an answer, whole. */
export function answeredBlocks(answer: string): Block[] {
  const blocks = new Map<unknown, Block>();
  for (const { type, index, ...rest } of framesIn(answer)) {
    if (type === "content_block_start") blocks.set(index, { ...block.parse(rest.content_block) });
    const open = blocks.get(index);
    if (type !== "content_block_delta" || open === undefined) continue;
    const { text, thinking, signature } = delta.parse(rest.delta);
    if (open.type === "text") open.text = `${open.text ?? ""}${text}`;
    if (open.type !== "thinking") continue;
    open.thinking = `${open.thinking ?? ""}${thinking}`;
    open.signature = `${open.signature ?? ""}${signature}`;
  }
  return [...blocks.values()];
}
