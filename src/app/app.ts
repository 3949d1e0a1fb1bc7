/**
 * The composition root. Builds these stages in order, passes each only what it needs, and closes them in reverse:
 *
 *   state           ledger, store, leases, bus, events, audit, metrics
 *   platforms       the chat services, and replies to them
 *   sandbox, skills, models   in parallel: views and drafts; skills and their gate; the cascade of providers
 *   tools           plugins, and the queue for their calls
 *   conversations   memory, context, approvals, turns
 *   commands, web, housekeeping
 */
import { randomUUID } from "node:crypto";
import { createAccess } from "../access/access.ts";
import { createBarredBecause, createMayRepeat } from "../access/may-repeat.ts";
import { createRequestLimits } from "../access/request-limits.ts";
import { createOwnerCheck } from "../approvals/authority.ts";
import { createTimeZones } from "../commands/time-zone-command.ts";
import { accessRules } from "../config/derive.ts";
import { createPlatformHandlers } from "../engine/platform-handlers.ts";
import { RemoraError } from "../lib/errors.ts";
import type { ApprovalDesk } from "../ports/approval.ts";
import type { Conversations } from "../ports/conversation.ts";
import type { PlatformHandlers } from "../ports/platform.ts";
import type { SandboxReport } from "../ports/sandbox.ts";
import type { Toolbox } from "../ports/tool.ts";
import type { UsageMeter } from "../ports/usage.ts";
import { authorOf } from "../ports/visitor.ts";
import type { ProviderStatus } from "../providers/select.ts";
import { countSkills } from "../skill-runtime/library/library.ts";
import { byAnyName } from "../skill-runtime/library/precedence.ts";
import type { Accounts } from "../web/accounts/accounts.ts";
import { createHealthHistory } from "../web/health-history.ts";
import { describeReadiness } from "../web/readiness.ts";
import { statusLines } from "../web/status.ts";
import { buildAnswers } from "./answers.ts";
import { buildChatLog } from "./chat-log.ts";
import { type Closing, createClosing } from "./closing.ts";
import { buildCommands } from "./commands.ts";
import { buildConversations } from "./conversations.ts";
import { createPersonNow } from "./current-person.ts";
import { buildHealth, type Health } from "./health.ts";
import { buildHousekeeping } from "./housekeeping.ts";
import { createLate } from "./late.ts";
import { buildMemory } from "./memory.ts";
import { buildModels } from "./models.ts";
import { type AppOptions, takesTurns } from "./options.ts";
import { buildPlatforms, type PlatformPages, type Platforms } from "./platforms.ts";
import { buildRetention, createStorageSizes } from "./retention.ts";
import { buildSandbox } from "./sandbox.ts";
import { buildSkills } from "./skills.ts";
import { buildState } from "./state.ts";
import { buildTools, type PluginServicesOfCall } from "./tools.ts";
import { buildAccounts, buildWebServer, mountPages } from "./web.ts";
import { createWrapPort } from "./wrap-port.ts";

export interface App {
  report(): AppReport;
  start(): Promise<void>;
  /** Resolves if the ledger answers. An unreachable Redis is no reason to restart. */
  isAlive(): Promise<boolean>;
  /** Reads the settings again, and applies what can change without a restart. */
  reload(): Promise<void>;
  /** Stops accepting work, finishes or suspends running turns, then closes everything. */
  close(): Promise<void>;
}

export interface AppReport {
  url: string | null;
  providers: ProviderStatus[];
  /** Why only the demo answers, although the settings name a model service. Otherwise empty. */
  demoInstead: string;
  platforms: { name: string; isConnected: boolean; detail: string }[];
  sandbox: SandboxReport;
  skills: { loaded: number; withProblems: number };
}

/** How long a stop waits for its parts to close after the grace period. The next process continues, as after a crash. */
const maxOverdueMs = 15_000;
/** Delays the warm-up so that it does not block the first message or call. */
const gateWarmUpDelayMs = 1_000;
const maxConnectMs = 2_000;
const maxHomeEntries = 5;

export async function createApp(options: AppOptions): Promise<App> {
  const closing = createClosing();
  try {
    return await build(options, closing);
  } catch (thrown) {
    await closing.run().catch(() => {});
    throw thrown;
  }
}

async function build(options: AppOptions, closing: Closing): Promise<App> {
  const { settings, role, log } = options;
  const { config } = settings;
  const ended = new AbortController();
  const overdue = new AbortController();
  const isOwner: ReturnType<typeof createOwnerCheck> = (platform, person) =>
    createOwnerCheck(config.safety.owners)(platform, person);
  const late = {
    accounts: createLate<Accounts>("accounts"),
    approvals: createLate<ApprovalDesk>("approvals"),
    conversations: createLate<Conversations>("conversations"),
    handlers: createLate<PlatformHandlers>("platform handlers"),
    health: createLate<Health>("health"),
    pages: createLate<PlatformPages>("platform pages"),
    platforms: createLate<Platforms>("platforms"),
    services: createLate<PluginServicesOfCall>("plugin services"),
    toolbox: createLate<Toolbox>("toolbox"),
    usage: createLate<UsageMeter>("usage"),
  };
  let isStarted = false;

  const state = closing.add(await buildState(options, createWrapPort(options.wrappers)));
  const redisHealth = () => state.redis?.connection.health();
  const readiness = () =>
    describeReadiness({
      ...{ isStarted, redis: redisHealth() },
      connected: late.platforms.get().connections.all(),
      checks: late.health.get().checks(),
    });
  const server = closing.add(buildWebServer(options, state, readiness));
  const platforms = closing.add(await buildPlatforms(options, state, late));
  late.platforms.set(platforms);
  const { deliveries, connections } = platforms;
  const rules = accessRules(settings);
  state.live.onApplied(() => Object.assign(rules, accessRules(settings)));
  const access = createAccess({
    ...{ rules, ledger: state.ledger, isOwner },
    isInSpace: async (name, person, spaceId) => await platforms.byName.get(name)?.isInSpace?.(person, spaceId),
  });
  const personNow = createPersonNow((name) => platforms.byName.get(name));
  const barredBecause = createBarredBecause(access);
  const mayRepeat = createMayRepeat({ barredBecause, personNow });
  const { chatLog, search, ...ofChatLog } = buildChatLog(options, state, platforms);
  closing.add(ofChatLog);
  const memory = closing.add(buildMemory(options, state, late.usage.get));
  const building = [
    buildSandbox(options, state, { ...late, deliveries, mayRepeat }).then(closing.add),
    buildSkills(options, state).then(closing.add),
    buildModels(options, state, ended.signal).then(closing.add),
  ] as const;
  const [sandbox, skills, models] = await Promise.all(building).catch(async (thrown: unknown) => {
    // Wait for all builders, because a part can't be closed while it is being built.
    await Promise.allSettled(building);
    throw thrown;
  });
  late.usage.set(models.usage);
  const tools = closing.add(await buildTools(options, state, { ...late, sandbox, skills, isOwner }));
  const parts = closing.add(
    buildConversations(options, state, {
      ...{ ...late, memory, sandbox, skills, models, tools, deliveries, personNow, mayRepeat, access, barredBecause },
      searchChat: search,
      platform: (name) => platforms.byName.get(name),
      serves: platforms.serves,
      overdue: overdue.signal,
    }),
  );
  const { conversations, approvals, questions, context } = parts;
  const health = closing.add(
    buildHealth(options, state, { models: models.watch, usage: models.usage, platforms: connections.all }),
  );
  late.health.set(health);

  const answers = buildAnswers(options, state, {
    ...parts,
    memory,
    barredBecause,
    platform: (name) => platforms.byName.get(name),
  });
  const timeZones = createTimeZones(state.store);
  const commands = buildCommands(options, state, {
    ...{ memory, chatLog, sandbox, models, tools, parts, access, timeZones, isOwner, answers },
    checks: health.checks,
    connected: connections.all,
    platform: (name) => platforms.byName.get(name),
    mayRead: async (name, conversationId, person) =>
      await platforms.byName.get(name)?.mayRead?.(conversationId, person),
  });
  const handlers = createPlatformHandlers({
    ...{ conversations, approvals, questions, commands, context, access, chatLog, log, onFooter: answers.onFooter },
    refusal: health.refusal,
    withZone: timeZones.withZone,
    requestLimits: createRequestLimits(config.limits),
    skillNamed: (asked, conversationId) => byAnyName(tools.toolbox.skillsFor(conversationId).skills).get(asked)?.name,
  });
  late.handlers.set(handlers);
  const status = () =>
    statusLines({
      platforms: [...platforms.byName.values()],
      models: models.statuses,
      sandbox: sandbox.report,
      redis: redisHealth(),
      jobs: tools.queue.counts(),
      problemOf: models.watch.problemOf,
      checks: health.checks(),
      settings: state.live.status(),
    });
  const healthHistory = createHealthHistory({ ledger: state.ledger, role, status, newId: randomUUID });
  late.pages.set({
    commands: commands.list,
    home: async (person) => ({
      status: status().map(({ name, state: is, detail }) => `${name}: ${is}${detail === "" ? "" : `, ${detail}`}`),
      memory: (await memory.newest(`dm:${person.id}`, maxHomeEntries)).map(({ headline }) => headline),
    }),
  });
  const accounts = buildAccounts(options, state, server, platforms.byName.get("slack")?.lookUp);
  late.accounts.set(accounts);
  const retention = buildRetention(settings, { records: state, history: parts.history, log });
  mountPages(server, options, state, {
    storageSizes: createStorageSizes(settings, retention, log),
    mayRead: async (conversationId, person) => {
      const platform = platforms.byName.get(person.platform);
      const isThere = conversationId.startsWith(`${person.platform}:`);
      return isThere && (await platform?.mayRead?.(conversationId, authorOf(person)).catch(() => false)) === true;
    },
    platforms,
    skills,
    models,
    tools,
    answers,
    memory,
    parts,
    healthHistory,
    status,
  });
  const housekeeping = buildHousekeeping(options, state, {
    ...{ memory, chatLog, sandbox, skills, models, tools, parts, health, healthHistory, accounts, retention },
    servePage: () => connections.servePage(handlers, ended.signal),
  });

  let url: string | null = null;
  let gateWarmUp: NodeJS.Timeout | undefined;
  let overdueTimer: NodeJS.Timeout | undefined;
  let isWorkingInBackground = false;

  /** After the grace period, stops waiting for services and Redis, because the next process resumes the work. */
  function untilOverdue(): Promise<never> {
    return new Promise((_, reject) => {
      overdueTimer = setTimeout(() => {
        // First suspend the turns. Otherwise they would treat their aborted requests as answers of the service.
        overdue.abort();
        platforms.hurry();
        state.hurry();
        overdueTimer = setTimeout(() => reject(stillOpen()), maxOverdueMs);
      }, config.shutdown.graceMs);
    });
  }

  function startBackgroundWork(): void {
    if (isWorkingInBackground || ended.signal.aborted) return;
    isWorkingInBackground = true;
    health.startSlowChecks();
    housekeeping.start();
    // In case a kill has ended their watcher as well.
    void import("../lib/marked-processes.mjs").then(({ endOrphans }) => endOrphans());
    if (takesTurns(role)) void memory.warmUp();
  }

  return {
    report: () => ({
      url,
      providers: models.statuses,
      demoInstead: models.demoInstead,
      platforms: [...platforms.byName.values()].map((platform) => ({ name: platform.name, ...platform.health() })),
      sandbox: sandbox.report,
      skills: countSkills(skills.library.current()),
    }),
    reload: state.live.reload,
    async isAlive() {
      if (redisHealth()?.isConnected !== false) await state.ledger.get("turn", "watchdog");
      return true;
    },
    async start() {
      url = (await server.start()).url;
      await health.start(url);
      await sandbox.drafts.recover();
      await tools.taskFiles.markInterrupted(conversations.activeTurnIds);
      await skills.library.watch();
      const { connected } = await connections.start(handlers, ended.signal);
      // Don't wait for the connections: recovered turns can reply without them.
      await conversations.recover();
      // In case a service can't be reached.
      setTimeout(startBackgroundWork, maxConnectMs).unref();
      await connected;
      isStarted = true;
      // After the process has said that it is ready.
      setTimeout(startBackgroundWork);
      state.live.watch();
      if (takesTurns(role)) gateWarmUp = setTimeout(skills.warmUpGate, gateWarmUpDelayMs).unref();
    },
    async close() {
      const tidied = housekeeping.stop();
      clearTimeout(gateWarmUp);
      ended.abort();
      const closed = Promise.all([closing.run(), tidied]);
      await Promise.race([closed, untilOverdue()]).finally(() => clearTimeout(overdueTimer));
    },
  };
}

function stillOpen(): RemoraError {
  const message = `some parts did not close within ${maxOverdueMs / 1_000} s after the grace period. The next start continues their work`;
  return new RemoraError({ code: "stop.overdue", place: "stop", message });
}
