/** Collects the dashboard's data from its sources. Stores nothing. */
import { dirname } from "node:path";
import type { ApprovalDesk } from "../ports/approval.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { Platform } from "../ports/platform.ts";
import type { SandboxReport } from "../ports/sandbox.ts";
import type { SkillSet } from "../ports/skill.ts";
import type { ToolQueue } from "../ports/tool.ts";
import { requesterOf } from "../ports/turn.ts";
import type { DashboardData, StatusLine } from "./dashboard.ts";

export interface SnapshotOptions {
  version: string;
  ledger: Ledger;
  approvals: ApprovalDesk;
  queue: ToolQueue;
  skills(): SkillSet;
  status(): StatusLine[];
}

const maxTurns = 50;
const maxHeadlineCharacters = 80;

export function createSnapshot(options: SnapshotOptions): () => Promise<DashboardData> {
  const startedAt = Date.now();
  return async () => {
    const [turns, cards] = await Promise.all([
      options.ledger.list("turn", { order: "newest", limit: maxTurns }),
      options.approvals.listOpen(),
    ]);
    return {
      version: options.version,
      startedAt,
      status: options.status(),
      turns: turns.map(({ body, state }) => ({
        id: body.id,
        conversationId: body.conversationId,
        who: requesterOf(body).name,
        headline: body.messages.at(-1)?.text.trim().slice(0, maxHeadlineCharacters) ?? "",
        state,
        steps: body.steps.length,
        startedAt: body.startedAt,
        endedAt: body.endedAt ?? null,
      })),
      approvals: cards.flatMap((card) =>
        card.items
          .filter((item) => item.state === "open")
          .map((item) => ({
            id: item.approvalId,
            conversationId: card.target.conversationId,
            tool: item.tool,
            call: item.callText,
            headline: item.headline,
            reason: item.reason ?? null,
            why: item.why,
            warning: item.warning ?? null,
            facts: item.facts ?? [],
            changes: item.changes ?? null,
            choices: item.choices,
            times: item.times,
            progress: item.progress ?? null,
            requester: card.requesterName,
            approvers: card.approversText,
            expiresAt: card.expiresAt,
          })),
      ),
      jobs: options.queue.counts(),
      skills: skillRows(options.skills()),
    };
  };
}

function skillRows({ skills, diagnostics }: SkillSet): DashboardData["skills"] {
  const about = (path: string) =>
    diagnostics
      .filter((diagnostic) => diagnostic.path === path)
      .map(({ line, severity, message }) => ({ line, severity, message }));
  const loaded = skills.map(({ name, description, tools, path }) => ({
    name,
    description,
    tools: tools.length,
    diagnostics: about(path),
  }));
  const known = new Set(skills.map((skill) => skill.path));
  const others = [...new Set(diagnostics.map(({ path }) => path))].filter((path) => !known.has(path));
  return [
    ...loaded,
    ...others.map((path) => ({ name: dirname(path), description: "not loaded", tools: 0, diagnostics: about(path) })),
  ];
}

export function statusLines(
  platforms: readonly Platform[],
  models: readonly { model: string; isReady: boolean; hint: string }[],
  sandbox: SandboxReport,
): StatusLine[] {
  return [
    ...platforms.map((platform): StatusLine => {
      const { isConnected, detail } = platform.health();
      return { name: `platform ${platform.name}`, state: isConnected ? "ok" : "error", detail };
    }),
    ...models.map(({ model, isReady, hint }): StatusLine => {
      return { name: `model ${model}`, state: isReady ? "ok" : "off", detail: hint };
    }),
    { name: "sandbox", state: sandbox.holds ? "ok" : "warning", detail: sandbox.detail },
  ];
}
