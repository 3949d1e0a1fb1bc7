/**
 * The dashboard: one look at what the agent does, waits for and has found wrong. The page asks for a snapshot every few
 * seconds. The only thing it changes is an approval: whoever has the page's token answers as the operator.
 */
import { fileURLToPath } from "node:url";
import { serveStatic } from "@hono/node-server/serve-static";
import type { Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { z } from "zod";
import type { OperatorDecision } from "../ports/approval.ts";
import { maxShownFiles, type ShownChanges } from "../ports/card.ts";
import type { AnswerChoice, AnswerReceipt } from "../ports/message.ts";

/** `warning`: it works, and somebody should look. `off`: not set up, which may be meant. */
export type StatusState = "ok" | "warning" | "error" | "off";

export interface StatusLine {
  /** `platform discord`, `model anthropic`, `sandbox`, … */
  name: string;
  state: StatusState;
  /** One line a person can act on. */
  detail: string;
}

export interface DashboardData {
  version: string;
  /** Milliseconds since the epoch, as all times here. */
  startedAt: number;
  status: StatusLine[];
  /** Newest first. */
  turns: {
    id: string;
    conversationId: string;
    who: string;
    headline: string;
    state: string;
    steps: number;
    startedAt: number;
    endedAt: number | null;
  }[];
  /** Open ones, oldest first. All texts are plain, escaped so that nothing hides in them. */
  approvals: {
    id: string;
    conversationId: string;
    tool: string;
    /** The whole call, many lines. */
    call: string;
    /** Why it asks, a line each. */
    reasons: string[];
    warning: string | null;
    /** What else to know, a line each: hosts that the call reaches, files it takes along. */
    facts: string[];
    /** About changes to a folder: shown instead of `call` and `reasons`. */
    changes: ShownChanges | null;
    /** What may be chosen in the chat; of these approve, deny, part and diff here as well. */
    choices: AnswerChoice[];
    /** Identical calls that are answered together. */
    times: number;
    progress: string | null;
    requester: string;
    approvers: string;
    expiresAt: number | null;
  }[];
  jobs: { waiting: number; running: number };
  skills: {
    name: string;
    description: string;
    tools: number;
    diagnostics: { line: number; severity: "warning" | "error"; message: string }[];
  }[];
}

/** Bytes. */
const longestAnswer = 16_384;
const wrongAnswer =
  "That is no answer: it takes cardOrApprovalId, choice (approve, deny or part), with deny a reason, and with part the parts.";
const decisionSchema = z
  .strictObject({
    cardOrApprovalId: z.string().min(1).max(200),
    choice: z.enum(["approve", "deny", "part"]),
    reason: z.string().max(2_000).optional(),
    parts: z.array(z.int().min(0).lt(maxShownFiles)).min(1).max(maxShownFiles).optional(),
  })
  .refine(({ choice, parts }) => (choice === "part") === (parts !== undefined));

export interface DashboardOptions {
  snapshot(): Promise<DashboardData>;
  decide(decision: OperatorDecision): Promise<AnswerReceipt>;
  /** The whole diff of a card about changes; undefined: there is none. */
  diffOf(cardOrApprovalId: string): Promise<string | undefined>;
}

/** `app` must check token, origin and host before anything mounted on it is reached. */
export function mountDashboard(app: Hono, { snapshot, decide, diffOf }: DashboardOptions): void {
  const root = fileURLToPath(new URL("dashboard/", import.meta.url));
  const onFound = (_path: string, context: Context) => context.header("Cache-Control", "no-cache");
  app.get("/dashboard", serveStatic({ root, path: "index.html", onFound }));
  app.get("/dashboard/data", async (context) => context.json(await snapshot(), 200, { "cache-control": "no-store" }));
  const limit = bodyLimit({
    maxSize: longestAnswer,
    onError: (context) => context.json({ accepted: false, text: wrongAnswer }, 413),
  });
  app.post("/dashboard/answers", limit, async (context) => {
    const parsed = decisionSchema.safeParse(await context.req.json().catch(() => undefined));
    if (!parsed.success) return context.json({ accepted: false, text: wrongAnswer }, 400);
    const { reason, parts, ...decision } = parsed.data;
    return context.json(
      await decide({
        ...decision,
        ...(reason === undefined ? {} : { reason }),
        ...(parts === undefined ? {} : { parts }),
      }),
    );
  });
  app.get("/dashboard/diffs/:id", async (context) => {
    const diff = await diffOf(context.req.param("id"));
    if (diff === undefined) return context.json({ error: "There is no diff of this card any more." }, 404);
    return context.json({ diff }, 200, { "cache-control": "no-store" });
  });
  const rewriteRequestPath = (path: string) => path.slice("/dashboard".length);
  app.get("/dashboard/*", serveStatic({ root, rewriteRequestPath, onFound }));
}
