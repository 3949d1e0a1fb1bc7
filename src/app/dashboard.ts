/** Connects the dashboard's pages with the parts that they show, and keeps the history of health. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Hono } from "hono";
import { readTurnLog } from "../audit/turn-log.ts";
import { listSnapshots } from "../context/explain.ts";
import { shortPath } from "../lib/short-path.ts";
import type { OwnedMemory } from "../memory/memory.ts";
import type { StatusLine } from "../ports/health.ts";
import type { Ratings } from "../ports/rating.ts";
import type { StorageSize } from "../ports/storage-size.ts";
import { mountDashboard } from "../web/dashboard.ts";
import type { MayRead } from "../web/endpoints/schedules.ts";
import type { SkillDesk } from "../web/endpoints/skills.ts";
import type { HealthHistory } from "../web/health-history.ts";
import type { ConversationParts } from "./conversations.ts";
import type { Models } from "./models.ts";
import type { AppOptions } from "./options.ts";
import type { Skills } from "./skills.ts";
import type { State } from "./state.ts";
import type { Tools } from "./tools.ts";

const { version } = createRequire(import.meta.url)("../../package.json") as { version: string };

export interface DashboardParts {
  skills: Skills;
  models: Models;
  answers: { ratings: Ratings };
  tools: Tools;
  memory: OwnedMemory;
  parts: ConversationParts;
  healthHistory: HealthHistory;
  status(): StatusLine[];
  mayRead: MayRead;
  storageSizes(): StorageSize[] | undefined;
}

export function buildDashboard(
  app: Hono,
  { settings }: AppOptions,
  { ledger, audit, auditLog, mask }: State,
  { parts, memory, skills, models, tools, answers, healthHistory, status, mayRead, storageSizes }: DashboardParts,
): void {
  const { approvals, conversations, context, reports, schedules } = parts;
  const { workspace, configFile } = settings;
  mountDashboard(app, {
    ...{ version, startedAt: Date.now(), ledger, audit, mask, status, history: healthHistory },
    ...{ approvals, conversations, reports, schedules },
    queue: tools.queue,
    usage: models.usage,
    ratings: answers.ratings,
    limits: settings.config.limits,
    ...{ mayRead, storageSizes },
    memory: { ...memory.desk, search: memory.search },
    skills: skillDesk(skills, tools),
    settings: () => ({
      configFile: shortPath(configFile),
      settings: settings.sources.map((setting) => ({ ...setting, place: shortPath(setting.place) })),
    }),
    async prompts(turnId) {
      context.flush();
      const ofTurn = (await listSnapshots(workspace)).filter((snapshot) => snapshot.turnId === turnId);
      return ofTurn.map(({ step, path }) => ({ step, read: () => readFile(join(workspace, path), "utf8") }));
    },
    async log(wanted) {
      await auditLog.flush();
      return await readTurnLog(join(workspace, "brain", "corpus"), wanted);
    },
  });
}

function skillDesk({ library, switches, isIsolated }: Skills, { toolbox }: Tools): SkillDesk {
  return {
    current: library.current,
    isIsolated,
    stateOf: (skill) => (toolbox.isAllowed(skill) ? (switches.isOn(skill) ? "on" : "off") : "denied"),
    async turn(name, isOn) {
      if (await switches.turn(name, isOn)) toolbox.applySwitches();
    },
    reload: library.reload,
  };
}
