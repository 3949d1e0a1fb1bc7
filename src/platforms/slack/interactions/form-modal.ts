/** Modals with inputs: what they look like, what people entered, and what to correct. */
import { z } from "zod";
import type { View } from "../api/views.ts";
import { modal, plainText } from "../outbound/blocks.ts";
import type { Block } from "../outbound/render.ts";
import { beginningOf } from "../outbound/safe-text.ts";

const maxErrorLength = 1_500;

export function formModal(form: {
  callback: string;
  metadata: string;
  title: string;
  submit: string;
  close?: string;
  blocks: Block[];
}): View {
  const { callback, metadata, title, submit, close = "Cancel", blocks } = form;
  const view = modal(title, blocks, close);
  return { ...view, callback_id: callback, private_metadata: metadata, submit: plainText(submit) };
}

/** A block with one element, whose input is read under the block's id. */
export function inputBlock(id: string, label: string, element: Block, more: Record<string, unknown> = {}): Block {
  return { type: "input", block_id: id, label: plainText(label), element: { action_id: id, ...element }, ...more };
}

/** The acknowledgement that keeps the modal open, with `text` at the input. */
export function inputError(id: string, text: string): View {
  return { response_action: "errors", errors: { [id]: beginningOf(text, maxErrorLength) } };
}

const inputSchema = z.object({
  value: z.string().nullish(),
  selected_user: z.string().nullish(),
  selected_options: z.array(z.object({ value: z.string() })).nullish(),
  files: z.array(z.unknown()).nullish(),
});
const valuesSchema = z.record(z.string(), z.record(z.string(), inputSchema));
export type Input = z.infer<typeof inputSchema>;

/** The inputs of a submitted modal by the ids of their blocks. */
export function readInputs(values: unknown): ReadonlyMap<string, Input> {
  const blocks = Object.entries(valuesSchema.safeParse(values).data ?? {});
  return new Map(blocks.flatMap(([id, elements]) => Object.values(elements).map((input) => [id, input] as const)));
}
