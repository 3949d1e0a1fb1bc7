/**
 * The two kinds of the dashboard's endpoints. `reading` answers with JSON and an ETag, so an unchanged page costs one
 * small answer. Configured secrets are masked in every answer. `acting` checks a JSON body and answers with a receipt: whether it was done, and a sentence for people.
 *
 * Expected failures, such as an unreachable Redis, are RemoraErrors. They answer 503 with their message.
 */
import { hash } from "node:crypto";
import type { Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { z } from "zod";
import { RemoraError } from "../../lib/errors.ts";
import type { Mask } from "../../lib/redact.ts";
import type { Visitor } from "../../ports/visitor.ts";

export interface Receipt {
  accepted: boolean;
  text: string;
}

const maxActionBytes = 256 * 1024;
const goneText = "This is gone. It may have been removed meanwhile.";

declare module "hono" {
  interface ContextVariableMap {
    /** Applied to every text that the dashboard's endpoints answer with. */
    mask: Mask | undefined;
  }
}

/** The input is the path's parameters and the query. If `read` resolves to undefined, the answer is 404. */
export function reading<S extends z.ZodType>(
  app: Hono,
  path: string,
  schema: S,
  read: (input: z.infer<S>, visitor: Visitor) => Promise<unknown>,
): void {
  app.get(path, async (context) => {
    const parsed = schema.safeParse({ ...context.req.query(), ...context.req.param() });
    if (!parsed.success) return context.json({ error: "The address of this page is not valid." }, 400);
    return await withFailures(context, async () => {
      const data = await read(parsed.data, context.get("visitor"));
      if (data === undefined) return context.json({ error: goneText }, 404);
      return taggedJson(context, data);
    });
  });
}

export function acting<S extends z.ZodType>(
  app: Hono,
  path: string,
  { schema, invalid, act }: { schema: S; invalid: string; act(input: z.infer<S>, visitor: Visitor): Promise<Receipt> },
): void {
  const refuse = (context: Context, status: 400 | 413) => context.json({ accepted: false, text: invalid }, status);
  const limit = bodyLimit({ maxSize: maxActionBytes, onError: (context) => refuse(context, 413) });
  app.post(path, limit, async (context) => {
    const parsed = schema.safeParse(await context.req.json().catch(() => undefined));
    if (!parsed.success) return refuse(context, 400);
    return await withFailures(context, async () => {
      const { accepted, text } = await act(parsed.data, context.get("visitor"));
      return context.json({ accepted, text: masked(context, text) });
    });
  });
}

/** Masks values before JSON escapes them, because an escaped secret would not match. */
function maskedJson(context: Context, data: unknown): string {
  return JSON.stringify(data, (_key, value: unknown) => (typeof value === "string" ? masked(context, value) : value));
}

function masked(context: Context, text: string): string {
  return context.get("mask")?.(text) ?? text;
}

function taggedJson(context: Context, data: unknown): Response {
  const text = maskedJson(context, data);
  const tag = `"${hash("sha256", text, "base64url").slice(0, 22)}"`;
  const headers = { etag: tag, "cache-control": "no-store" };
  if (context.req.header("if-none-match") === tag) return context.body(null, 304, headers);
  return context.body(text, 200, { ...headers, "content-type": "application/json; charset=utf-8" });
}

async function withFailures(context: Context, work: () => Promise<Response>): Promise<Response> {
  try {
    return await work();
  } catch (thrown) {
    if (!(thrown instanceof RemoraError)) throw thrown;
    const text = masked(context, thrown.message);
    return context.json({ accepted: false, text, error: text }, 503);
  }
}
