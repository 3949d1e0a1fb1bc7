/**
 * The dashboard: static files, lit-html, and one pair of endpoints per page. Anybody with the page's token is the
 * operator, who can do here what the command line and the settings allow, and nothing more. People who have signed in
 * can do what their role allows (accounts/endpoint-roles.ts).
 */
import { readdirSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { serveStatic } from "@hono/node-server/serve-static";
import type { Context, Hono } from "hono";
import type { ApprovalDesk } from "../ports/approval.ts";
import type { Audit } from "../ports/audit.ts";
import type { Conversations } from "../ports/conversation.ts";
import type { Ratings } from "../ports/rating.ts";
import type { Schedules } from "../ports/schedule.ts";
import type { UsageLimits, UsageMeter } from "../ports/usage.ts";
import { type DashboardDesk, mountApprovals } from "./endpoints/approvals.ts";
import { mountGrants } from "./endpoints/grants.ts";
import { type HealthOptions, mountHealth } from "./endpoints/health.ts";
import { mountLiveTurns } from "./endpoints/live-turns.ts";
import { mountMe } from "./endpoints/me.ts";
import { type MemoryPages, mountMemory } from "./endpoints/memory.ts";
import { mountNow, type NowOptions } from "./endpoints/now.ts";
import { createOperate } from "./endpoints/operate.ts";
import { type MayRead, mountSchedules } from "./endpoints/schedules.ts";
import { mountSettings, type ShownSettings } from "./endpoints/settings.ts";
import { mountSkills, type SkillDesk } from "./endpoints/skills.ts";
import { mountTurnDetail, type TurnDetailOptions } from "./endpoints/turn-detail.ts";
import { mountTurnSearch } from "./endpoints/turn-search.ts";
import { mountUsage } from "./endpoints/usage.ts";

export interface DashboardOptions extends NowOptions, TurnDetailOptions, HealthOptions {
  approvals: DashboardDesk & Pick<ApprovalDesk, "listGrants" | "revokeGrant">;
  mayRead: MayRead;
  conversations: Pick<Conversations, "status" | "stopTurn">;
  schedules: Pick<Schedules, "all" | "end">;
  usage: Pick<UsageMeter, "overview" | "budgets">;
  limits: UsageLimits;
  ratings: Ratings;
  memory: MemoryPages;
  skills: SkillDesk;
  settings(): ShownSettings;
  audit: Audit;
}

/** `app` must already check token, origin and host. */
export function mountDashboard(app: Hono, options: DashboardOptions): void {
  const operate = createOperate(options.audit);
  app.use("/dashboard/*", async (context, next) => {
    context.set("mask", options.mask);
    await next();
  });
  mountNow(app, options);
  mountApprovals(app, options.approvals);
  mountLiveTurns(app, { conversations: options.conversations, operate });
  mountTurnSearch(app, options.ledger);
  mountTurnDetail(app, options);
  mountGrants(app, { approvals: options.approvals, operate });
  mountSchedules(app, { schedules: options.schedules, operate, mayRead: options.mayRead });
  mountMe(app);
  mountMemory(app, { memory: options.memory, mask: options.mask, operate });
  mountSkills(app, { skills: options.skills, operate });
  mountUsage(app, options);
  mountSettings(app, options.settings);
  mountHealth(app, options);
  mountFiles(app);
}

function mountFiles(app: Hono): void {
  const root = fileURLToPath(new URL("dashboard/", import.meta.url));
  const onFound = (_path: string, context: Context) => context.header("Cache-Control", "no-cache");
  app.get("/dashboard", serveStatic({ root, path: "index.html", onFound }));
  const lit = litFolder();
  const vendor = new Map(["", "directives/"].flatMap((folder) => scriptsIn(lit, folder)).map((path) => [path, lit]));
  for (const path of ["diff-lines.js", "text/format-usage.mjs"])
    vendor.set(basename(path), dirname(fileURLToPath(new URL(`../lib/${path}`, import.meta.url))));
  app.get("/dashboard/vendor/*", async (context, next) => {
    const path = context.req.path.slice("/dashboard/vendor/".length);
    const folder = vendor.get(path);
    if (folder === undefined) return context.notFound();
    return await serveStatic({ root: folder, path, onFound })(context, next);
  });
  const rewriteRequestPath = (path: string) => path.slice("/dashboard".length);
  app.get("/dashboard/*", serveStatic({ root, rewriteRequestPath, onFound }));
}

/** The browser's build lies directly in the package's folder, and imports nothing from other packages. */
function litFolder(): string {
  const packageFile = findPackageJSON("lit-html", import.meta.url);
  if (packageFile === undefined) throw new Error("the package lit-html is not installed");
  return dirname(packageFile);
}

function scriptsIn(root: string, folder: string): string[] {
  return readdirSync(`${root}/${folder}`)
    .filter((name) => name.endsWith(".js"))
    .map((name) => `${folder}${name}`);
}
