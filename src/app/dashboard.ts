/** Connects the dashboard's pages with the parts that they show. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Hono } from "hono";
import { readTurnLog } from "../audit/turn-log.ts";
import { listSnapshots } from "../context/explain.ts";
import { mountDashboard } from "../web/dashboard.ts";
import type { StatusLine } from "../web/status.ts";
import type { ConversationParts } from "./conversations.ts";
import type { AppOptions } from "./options.ts";
import type { Skills } from "./skills.ts";
import type { State } from "./state.ts";
import type { Tools } from "./tools.ts";

const { version } = createRequire(import.meta.url)("../../package.json") as { version: string };

export interface DashboardParts {
  skills: Skills;
  tools: Tools;
  parts: ConversationParts;
  status(): StatusLine[];
}

export function buildDashboard(
  app: Hono,
  { settings: { workspace } }: AppOptions,
  { ledger, audit, auditLog, mask }: State,
  { parts: { approvals, conversations, context, reports }, status }: DashboardParts,
): void {
  mountDashboard(app, {
    ...{ version, startedAt: Date.now(), ledger, audit, mask, reports, approvals, conversations, status },
    async prompts(turnId) {
      context.flush();
      const ofTurn = (await listSnapshots(workspace)).filter((snapshot) => snapshot.turnId === turnId);
      return ofTurn.map(({ step, path }) => ({ step, read: () => readFile(join(workspace, path), "utf8") }));
    },
    async log(turnId, from, to) {
      await auditLog.flush();
      return await readTurnLog(join(workspace, "brain", "corpus"), { turnId, from, to });
    },
  });
}
