/** The dashboard can only answer approvals, and whoever has the page's token answers as the operator. */
import { fileURLToPath } from "node:url";
import { serveStatic } from "@hono/node-server/serve-static";
import type { Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { z } from "zod";
import type { OperatorDecision } from "../ports/approval.ts";
import { maxShownFiles, type ShownChanges } from "../ports/card.ts";
import type { AnswerChoice, AnswerReceipt } from "../ports/message.ts";

/** `warning` means that it works but needs attention; `off`, that it is not set up. */
export type StatusState = "ok" | "warning" | "error" | "off";

export interface StatusLine {
  name: string;
  state: StatusState;
  detail: string;
}

export interface DashboardData {
  version: string;
  startedAt: number;
  status: StatusLine[];
  /** The newest turns first. */
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
  /** Oldest first. All text is plain and escaped. */
  approvals: {
    id: string;
    conversationId: string;
    tool: string;
    call: string;
    /** What will happen, in plain words. Pairs of backticks mark code. */
    headline: string;
    reason: string | null;
    /** The rules that ask, shown on request. */
    why: string[];
    warning: string | null;
    facts: string[];
    /** Shown instead of `call` for changes to a folder. */
    changes: ShownChanges | null;
    /** Of these, the dashboard offers approve, deny, part and diff. */
    choices: AnswerChoice[];
    /** Number of identical calls. One answer settles all of them. */
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

const maxAnswerBytes = 16_384;
const wrongAnswer =
  "This is not a valid answer: it needs cardOrApprovalId and choice (approve, deny or part), optionally a reason, and with part the parts.";
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
  diffOf(cardOrApprovalId: string): Promise<string | undefined>;
}

/** `app` must already check token, origin and host. */
export function mountDashboard(app: Hono, { snapshot, decide, diffOf }: DashboardOptions): void {
  const root = fileURLToPath(new URL("dashboard/", import.meta.url));
  const onFound = (_path: string, context: Context) => context.header("Cache-Control", "no-cache");
  app.get("/dashboard", serveStatic({ root, path: "index.html", onFound }));
  app.get("/dashboard/data", async (context) => context.json(await snapshot(), 200, { "cache-control": "no-store" }));
  const limit = bodyLimit({
    maxSize: maxAnswerBytes,
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
    if (diff === undefined) return context.json({ error: "The diff of this card is gone." }, 404);
    return context.json({ diff }, 200, { "cache-control": "no-store" });
  });
  const rewriteRequestPath = (path: string) => path.slice("/dashboard".length);
  app.get("/dashboard/*", serveStatic({ root, rewriteRequestPath, onFound }));
}
