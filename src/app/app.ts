/**
 * The composition root: builds every part from the settings and hands each only what it needs. No part knows another's
 * folder; here they meet.
 *
 *   state      ledger, store, event log
 *   knowledge  skills and gate, memory, context
 *   work       providers, queue, approvals, conversations
 *   people     platforms, commands, the web server
 */
import { rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, sep } from "node:path";
import { createAccess } from "../access/access.ts";
import { createApprovals } from "../approvals/approvals.ts";
import { createOwnerCheck } from "../approvals/authority.ts";
import { createAuditLog } from "../audit/audit-log.ts";
import { headsFolderOf } from "../audit/heads.ts";
import { forgetCommand } from "../commands/forget-command.ts";
import { grantCommand, skillsCommand } from "../commands/grants-command.ts";
import { exportCommand, memoryCommand } from "../commands/memory-command.ts";
import { createModelChoice } from "../commands/model-command.ts";
import { conversationCommands, createCommands } from "../commands/registry.ts";
import { skillCommand } from "../commands/skill-command.ts";
import { undoCommand } from "../commands/undo-command.ts";
import { usageCommand } from "../commands/usage-command.ts";
import {
  accessRules,
  approvalPolicy,
  contextSettings,
  modelsToChoose,
  providerSettings,
  redisSettings,
  toolboxSettings,
} from "../config/derive.ts";
import type { Settings } from "../config/load.ts";
import { createContextBuilder } from "../context/assemble.ts";
import { forgetSnapshots } from "../context/forget-snapshots.ts";
import { createConversationRegistry } from "../engine/conversation/conversation-registry.ts";
import { createConversations } from "../engine/conversation/conversations.ts";
import { createHousekeeping } from "../engine/housekeeping.ts";
import { createPlatformHandlers } from "../engine/platform-handlers.ts";
import { createPosts } from "../engine/turn/posts.ts";
import { runTurn } from "../engine/turn/run-turn.ts";
import { createGate } from "../gate/gate.ts";
import { messageOf, RemoraError } from "../lib/errors.ts";
import { createEvents } from "../lib/event-bus.ts";
import type { Log } from "../lib/log.ts";
import { runIfDue } from "../lib/periodic.ts";
import { createMasker, type Redact } from "../lib/redact.ts";
import { createMemory } from "../memory/memory.ts";
import { createScopedMemory } from "../memory/scoped.ts";
import type { ApprovalDesk } from "../ports/approval.ts";
import type { GateRule, GateRules } from "../ports/gate.ts";
import type { Author, ReplyTarget, Scope } from "../ports/message.ts";
import type { Platform } from "../ports/platform.ts";
import type { PortWrappers } from "../ports/port-wrappers.ts";
import type { Provider } from "../ports/provider.ts";
import type { SandboxReport } from "../ports/sandbox.ts";
import type { Skill } from "../ports/skill.ts";
import type { ToolQueue, ToolScope } from "../ports/tool.ts";
import type { TurnRecord } from "../ports/turn.ts";
import type { Delivery, TurnDeps } from "../ports/turn-deps.ts";
import { isTainted } from "../ports/turn-origins.ts";
import { createCascade } from "../providers/cascade.ts";
import { createProviders, type ProviderStatus } from "../providers/select.ts";
import { createQuestions } from "../questions/questions.ts";
import { createDelivery } from "../response/deliver.ts";
import { readModel } from "../response/parse.ts";
import { describeMisfit } from "../response/schema-check.ts";
import { createSchedules } from "../schedules/schedules.ts";
import { createFirstUse } from "../skill-runtime/library/first-use.ts";
import { briefs, contentOf, countSkills, createSkillLibrary, gateRules } from "../skill-runtime/library/library.ts";
import { byAnyName } from "../skill-runtime/library/precedence.ts";
import { createIsolatedPlugins } from "../skill-runtime/plugins/isolated/isolated-plugins.ts";
import { createPluginServices } from "../skill-runtime/plugins/plugin-services.ts";
import { createToolbox } from "../skill-runtime/toolbox.ts";
import type { DurableState } from "../storage/durable-state.ts";
import { makeFolders } from "../storage/folders.ts";
import { openState } from "../storage/open-state.ts";
import { pruneFiles } from "../storage/prune-files.ts";
import { createEmbeddedQueue, type EmbeddedQueueOptions } from "../tool-queue/embedded/queue.ts";
import { createTaskFiles } from "../tool-queue/task-files/task-file.ts";
import { createUsageMeter } from "../usage/usage.ts";
import { mountDashboard } from "../web/dashboard.ts";
import { createMetrics } from "../web/metrics.ts";
import { createWebServer } from "../web/server.ts";
import { createSnapshot, statusLines } from "../web/snapshot.ts";
import { serveWhileWaiting } from "../web/waiting.ts";
import { createDraftParts } from "./drafts.ts";
import { createPageHome, createPlatforms, isMounted } from "./platforms.ts";

/** `platforms` takes messages in, `worker` works on them and answers; one process alone does both. */
export type Role = "all" | "platforms" | "worker";

export interface AppOptions {
  settings: Settings;
  role: Role;
  /** What the page's link, its cookie and API clients must carry. */
  token: string;
  log: Log;
  redact: Redact;
  /** Ends a start that waits. */
  signal: AbortSignal;
  /** Instead of those that the settings select; for tests and benchmarks. */
  providers?: Provider[];
  /** For tests: what breaks (ports/port-wrappers.ts). */
  wrappers?: PortWrappers;
}

export interface App {
  /** Everything that a person who starts it should know. */
  report(): AppReport;
  /** Resolves when messages can come in. Rejects with what to do when it can't start. */
  start(): Promise<void>;
  /** Takes nothing new, lets running turns end or suspends them, closes everything. */
  close(): Promise<void>;
}

export interface AppReport {
  /** The page's address without its token; null when it is off. */
  url: string | null;
  providers: ProviderStatus[];
  platforms: { name: string; isConnected: boolean; detail: string }[];
  sandbox: SandboxReport;
  skills: { loaded: number; withProblems: number };
}

const { version } = createRequire(import.meta.url)("../../package.json") as { version: string };
const weekMs = 7 * 86_400_000;
/** After the start, in milliseconds. */
const gateWarmUpMs = 1_000;
/** Copies of files that went out are sent again only by a turn that was cut off. */
const outboxKeptMs = weekMs;
const outputsKeptMs = 30 * 86_400_000;
/** Of a person's memory, where a platform has a place to show it. */
const homeEntries = 5;

export async function createApp(options: AppOptions): Promise<App> {
  const { settings, role, token, log, redact } = options;
  const { config, workspace, data } = settings;
  await makeFolders(workspace, data);
  const wrap = options.wrappers ?? {};
  const state = await openStateFor(options);
  const { store, leases, bus } = state;
  const ledger = wrap.ledger?.(state.ledger) ?? state.ledger;
  const ended = new AbortController();
  const isOwner = createOwnerCheck(config.safety.owners);
  const mask = createMasker([...settings.secrets, { name: "token of the page", value: token }]);

  const events = createEvents((thrown) => log.error({ error: messageOf(thrown) }, "a listener of events failed"));
  const corpus = join(workspace, "brain", "corpus");
  const auditLog = createAuditLog({
    ...{ events, mask, log, retentionDays: config.events.retentionDays },
    folder: corpus,
    headsFolder: headsFolderOf(data),
  });
  const audit = wrap.audit?.(auditLog) ?? auditLog;
  const metrics = createMetrics(events);

  const library = createSkillLibrary({ roots: settings.skillRoots, log, events });
  const [parts, selected] = await Promise.all([
    createDraftParts({
      ...{ settings, ledger, leases, bus, events, audit, redact, log, wrap },
      approvals: () => approvals,
      show: async (card) => {
        const delivery = await deliver(card.target);
        await delivery.ask(card).finally(() => delivery.leave());
      },
      isTainted: (turn) => isTainted(turn, toolbox.specs(turn.conversationId)),
      accept: (message) => conversations.accept(message),
    }),
    selectProviders(options, ended.signal),
    library.reload(),
  ]);
  const { report: sandbox, drafts, containment, outputsFolder, fileOrigins } = parts;
  const isIsolated = (skill: Skill) => !isTrustedSkill(skill, settings);
  const firstUse = createFirstUse(store, isIsolated);
  await firstUse.refresh(library.current());
  const rulesInForce = () => withRules(gateRules(library.current()), firstUse.rules(library.current()));
  const gate = createGate({ rules: rulesInForce(), matching: config.safety.matching });
  const replaceRules = () => gate.replace(rulesInForce());
  const refreshFirstUse = async () => {
    if (await firstUse.refresh(library.current())) replaceRules();
  };
  library.onChange(() => {
    replaceRules();
    refreshFirstUse().catch((thrown: unknown) => log.warn({ error: messageOf(thrown) }, "first uses can't be read"));
  });
  const memory = createMemory({
    workspace,
    indexFile: join(state.ownFolder, "memory.db"),
    events,
    log,
    redact,
    retentionDays: config.memory.retentionDays,
    ...(state.withLock === undefined ? {} : { withLock: state.withLock }),
  });
  async function isOwnersCall({ turnId, requester }: ToolScope): Promise<boolean> {
    const turn = await ledger.get("turn", turnId);
    return turn !== undefined && isOwner(turn.body.target.platform, requester);
  }

  const tools = createToolbox({
    library,
    log,
    workspace,
    filesRoot: join(workspace, "files"),
    dataFolder: join(data, "skills"),
    config: toolboxSettings(settings),
    drafts,
    outputsFolder,
    redact,
    isolated: createIsolatedPlugins({ launcher: parts.pluginLauncher, env: settings.env, log }),
    isIsolated,
    noteUse: async (skill) => {
      if (await firstUse.accept(skill)) replaceRules();
    },
    servicesFor: (call, signal) => servicesFor(call, signal),
    // What is written is in force for everybody.
    mayWriteSkills: async (scope) => config.safety.owners.length === 0 || (await isOwnersCall(scope)),
  });
  const toolbox = wrap.toolbox?.(tools) ?? tools;
  const provider = createCascade({ providers: selected.providers, events });
  const usage = createUsageMeter({ ledger, prices: config.models.prices, limits: config.limits, log });
  const known = createConversationRegistry(ledger);
  const modelChoice = createModelChoice({
    store,
    models: modelsToChoose(settings, selected.providers),
    isConversation: async (conversationId) =>
      (await ledger.list("turn", { group: conversationId, limit: 1 })).length > 0,
  });
  const context = createContextBuilder({
    workspace,
    store,
    memory,
    skills: (conversationId) => briefs(tools.skillsFor(conversationId)),
    tools: (conversationId) => toolbox.specs(conversationId),
    config: contextSettings(settings),
    redact,
    log,
    defaultModel: provider.model,
    preferredModel: modelChoice.preferred,
  });

  const queue = await createQueue(state, options, {
    ledger,
    toolbox,
    events,
    audit,
    backoff: config.tools.retryMs,
    concurrency: config.tools.concurrency,
    outputLimit: config.tools.outputCharacters,
    outputsFolder,
    fileOrigins,
    redact,
    log,
  });
  const taskFiles = createTaskFiles({ workspace, redact, log });
  /** Where something is remembered is known before it is, so that it can be forgotten. */
  async function remember(turn: TurnRecord): Promise<void> {
    await known.note(turn);
    await context.remember(turn);
  }

  async function forgetShown(scopes: ReadonlySet<Scope>): Promise<number> {
    context.flush();
    return await forgetSnapshots(workspace, async (turnId) => {
      const turn = await ledger.get("turn", turnId);
      // Of a turn that is not in the ledger any more nobody knows whose it was.
      return turn === undefined || scopes.has(turn.body.scope);
    });
  }

  /** Of turns that run here: what a tool shows meanwhile goes into the same reply. */
  const underWay = new Map<string, Delivery>();

  async function deliver(target: ReplyTarget): Promise<Delivery> {
    const platform = platforms.get(target.platform);
    if (platform === undefined) {
      throw new RemoraError({
        code: "platform.off",
        place: `platform ${target.platform}`,
        message: "is not on in this process; set its token, or leave the turn to a process that has it",
      });
    }
    const posts = createPosts(ledger, target.turnId, async (key, messageId) => {
      if (key.startsWith("card:")) await approvals.posted(key.slice("card:".length), target.turnId, messageId);
    });
    const reply = platform.reply(target, wrap.posts?.(posts) ?? posts);
    const delivery = createDelivery({ reply, redact, log });
    return wrap.delivery?.(delivery) ?? delivery;
  }

  /** As the service knows them now; undefined when they have left. */
  const personNow = async (person: Author, platform: string, conversationId: string) => {
    const lookUp = platforms.get(platform)?.lookUp;
    return lookUp === undefined ? person : await lookUp(person, conversationId);
  };

  const approvals: ApprovalDesk = createApprovals({
    ledger,
    events,
    audit,
    gate,
    policy: {
      ...approvalPolicy(settings),
      ownersOnly: (tool) =>
        (!sandbox.holds || sandbox.layers === "copy") && gateRules(library.current()).shellParameters.has(tool),
    },
    changes: drafts,
    wake: (turnId) => void conversations.wake(turnId),
    onSettled: async (card) => (await deliver(card.target)).settle(card),
    remember: async (feedback) => {
      await memory.recordFeedback(feedback);
      await auditLog.flush();
    },
    checkInput: (conversationId, tool, input) => describeMisfit(toolbox.specs(conversationId), tool, input),
    skillFile: (tool) => contentOf(library.current(), tool),
    authority: (person, { platform, conversationId }) => personNow(person, platform, conversationId),
    mask,
    log,
  });

  const questions = createQuestions({
    ledger,
    bus,
    show: async (card) => await (underWay.get(card.target.turnId) ?? (await deliver(card.target))).question(card),
    redact,
    log,
  });
  const schedules = createSchedules({
    ledger,
    accept: (message) => handlers.onMessage(message),
    ownerNow: ({ platform, conversationId, owner }) => personNow(owner, platform, conversationId),
    log,
  });
  const servicesFor = createPluginServices({
    ledger,
    memoryFor: createScopedMemory(memory, isOwnersCall),
    questions,
    schedules,
    platform: (name) => platforms.get(name),
  });
  const access = createAccess({ rules: accessRules(settings), ledger, isOwner });

  const builder = { ...context, remember };
  const stages: TurnDeps = {
    ledger,
    events,
    context: wrap.context?.(builder) ?? builder,
    provider: wrap.provider?.(provider) ?? provider,
    readModel: wrap.readModel?.(readModel) ?? readModel,
    async deliver(target) {
      const delivery = await deliver(target);
      underWay.set(target.turnId, delivery);
      return delivery;
    },
    toolbox,
    gate: wrap.gate?.(gate) ?? gate,
    approvals,
    containment,
    drafts,
    queue,
    memory: wrap.memory?.(memory) ?? memory,
    taskFiles,
    usage,
    takeSteering: (turnId, conversationId) => conversations.takeSteering(turnId, conversationId),
    limits: config.turns,
    log,
  };
  const conversations = createConversations({
    ledger,
    events,
    log,
    leases,
    bus,
    takesTurns: role !== "platforms",
    resumeOrphansEveryMs: Math.min(5_000, config.redis.lockMs / 2),
    serves: async (conversationId) => {
      const [platform = ""] = conversationId.split(":", 1);
      return platforms.has(platform) && (state.redis === undefined || platform !== "local" || (await home.isHere()));
    },
    overlap: config.turns.overlap,
    concurrency: config.turns.concurrency,
    run: (turn, signal) => runTurn(turn, stages, signal).finally(() => underWay.delete(turn.id)),
    onCrash: async (turn) => (await deliver(turn.target)).fail(crashText),
    cancelApprovals: (turnId) => approvals.cancel(turnId, "the turn was stopped"),
    settleDecided: drafts.settleDecided,
    workingFolder: parts.workingFolder,
  });

  const commands = createCommands(
    [
      ...conversationCommands(
        conversations,
        (conversationId) => context.forget(conversationId),
        () => [...connected].map((platform) => ({ name: platform.name, detail: platform.health().detail })),
      ),
      grantCommand(approvals),
      undoCommand(drafts),
      skillsCommand(tools.skillsFor),
      modelChoice.command,
      skillCommand,
      access.command,
      usageCommand({ meter: usage, ledger, limits: config.limits, isOwner }),
      memoryCommand(memory),
      exportCommand(memory),
      forgetCommand({
        conversations: known,
        memory: memory.forget,
        history: context.forget,
        tasks: taskFiles.forget,
        snapshots: forgetShown,
        outputs: (scope) => rm(outputsFolder(scope), { recursive: true, force: true }),
        isOwner,
      }),
    ],
    log,
  );
  const platforms = await createPlatforms({
    settings,
    store,
    commands: commands.list,
    home: async (person) => ({
      status: status().map(({ name, state, detail }) => `${name}: ${state}${detail === "" ? "" : `, ${detail}`}`),
      memory: (await memory.newest(`dm:${person.id}`, homeEntries)).map(({ headline }) => headline),
    }),
    events,
    log,
  });
  const home = createPageHome({ data, store, leases });
  const handlers = createPlatformHandlers({
    ...{ conversations, approvals, questions, commands, context, access, log },
    skillNamed: (asked, conversationId) => byAnyName(tools.skillsFor(conversationId).skills).get(asked)?.name,
  });

  const server = createWebServer({ ...config.web, token, readiness, metrics, log });
  if (takesMessages(role))
    for (const platform of platforms.values()) if (isMounted(platform)) platform.mount(server.app);
  const skills = () => library.current();
  const status = () => statusLines([...platforms.values()], selected.statuses, sandbox);
  const snapshot = createSnapshot({ version, ledger, approvals, queue, skills, status });
  mountDashboard(server.app, {
    snapshot,
    decide: (decision) => approvals.decide(decision),
    diffOf: (id) => approvals.diffOf(id),
  });
  let url: string | null = null;
  let isStarted = false;
  /** Those that messages come in by. */
  const connected = new Set<Platform>();

  function readiness() {
    const down = [...connected].filter((platform) => !platform.health().isConnected);
    const redis = state.redis?.connection.health();
    const lines = [
      ...(isStarted ? [] : ["starting"]),
      ...(redis === undefined || redis.isConnected ? [] : [`Redis: ${redis.detail}`]),
      ...down.map((platform) => `${platform.name}: ${platform.health().detail}`),
    ];
    if (lines.length > 0) return { isReady: false, detail: lines.join("\n") };
    const services = [...connected].filter(({ name }) => name !== "local");
    const details = services.map((platform) => `${platform.name}: ${platform.health().detail}`);
    return { isReady: true, detail: ["ready", ...details].join("\n") };
  }

  async function connect(platform: Platform): Promise<void> {
    await platform.connect(handlers, ended.signal);
    events.emit("platform.connected", { platform: platform.name });
  }

  let isPageOurs = false;

  /** One process serves the page; when that has gone, it is this one's. */
  async function servePage(): Promise<void> {
    const page = platforms.get("local");
    if (page === undefined || !takesMessages(role)) return;
    if (await home.claim()) isPageOurs = true;
    if (!isPageOurs || connected.has(page)) return;
    await connect(page);
    connected.add(page);
    log.info({}, "the page is served here now");
  }

  const housekeeping = createHousekeeping({
    sweeps: {
      approvals: approvals.sweep,
      conversations: conversations.sweep,
      drafts: role === "platforms" ? async () => {} : drafts.sweep,
      questions: questions.sweep,
      schedules: schedules.sweep,
      plugins: refreshFirstUse,
      page: servePage,
    },
    ledger,
    cleanUps: [
      () => runIfDue(store, { name: "consolidation", everyMs: weekMs, work: memory.consolidate }),
      usage.prune,
      () => pruneFiles(join(workspace, "outbox"), Date.now() - outboxKeptMs),
      () => pruneFiles(join(workspace, "outputs"), Date.now() - outputsKeptMs),
      // Last, because it writes: on a full disk the others make room for it first.
      auditLog.prune,
    ],
    log,
  });

  let gateWarmUp: NodeJS.Timeout | undefined;
  /** Once, also when a signal comes while a start that fails closes what it has opened. */
  let closed: Promise<void> | undefined;
  async function close(): Promise<void> {
    housekeeping.stop();
    clearTimeout(gateWarmUp);
    ended.abort();
    // What could not be written by then stays as it is, for whoever goes on with it.
    const hurry = setTimeout(() => state.redis?.connection.hurry(), config.shutdown.graceMs);
    await conversations.close(config.shutdown.graceMs);
    await approvals.whenIdle();
    context.flush();
    await Promise.all([...platforms.values()].map((platform) => platform.close()));
    await server.close();
    await queue.close();
    await parts.close();
    await toolbox.close();
    await library.close();
    await memory.close();
    await auditLog.close();
    metrics.close();
    await state.close();
    clearTimeout(hurry);
  }

  return {
    report: () => ({
      url,
      providers: selected.statuses,
      platforms: [...platforms.values()].map((platform) => ({ name: platform.name, ...platform.health() })),
      sandbox,
      skills: countSkills(library.current()),
    }),
    async start() {
      url = (await server.start()).url;
      await drafts.recover();
      await taskFiles.markInterrupted(conversations.activeTurnIds);
      await library.watch();
      for (const platform of takesMessages(role) ? platforms.values() : []) {
        if (platform.name === "local") isPageOurs = await home.claim();
        if (platform.name !== "local" || isPageOurs) connected.add(platform);
        else log.warn({}, "the page is not served here: another process serves its own");
      }
      const connecting = Promise.all([...connected].map(connect));
      // Replies need no connection: what was going on does not wait for a service that is away.
      connecting.catch(() => {});
      await conversations.recover();
      if (role !== "platforms") void memory.warmUp();
      housekeeping.start();
      await connecting;
      isStarted = true;
      // Nobody's first message waits for it, and no first call either.
      if (role !== "platforms") gateWarmUp = setTimeout(gate.warmUp, gateWarmUpMs).unref();
    },
    close: () => (closed ??= close()),
  };
}

const crashText =
  "⚠️ Something went wrong inside Remora while it worked on this. The log has the details; please ask again.";

/** Shipped, or one that the operator lets run inside this process. */
function isTrustedSkill(skill: Skill, { skillRoots: [shipped = ""], config }: Settings): boolean {
  return skill.folder.startsWith(join(shipped, sep)) || config.skills.inProcess.includes(skill.name);
}

function withRules(rules: GateRules, more: GateRule[]): GateRules {
  return { ...rules, rules: [...rules.rules, ...more] };
}

function takesMessages(role: Role): boolean {
  return role !== "worker";
}

async function openStateFor({ settings, token, role, log, signal }: AppOptions): Promise<DurableState> {
  const redis = redisSettings(settings);
  if (redis === null && role !== "all") {
    throw new RemoraError({
      code: "start.role",
      place: "--role",
      message: `"${role}" shares its work with other processes, and they need Redis for that. Set REDIS_URL, or leave --role out`,
    });
  }
  const waiting = (detail: () => string) => serveWhileWaiting({ ...settings.config.web, token, log }, detail);
  return await openState({ data: settings.data, redis, log }, waiting, signal);
}

async function createQueue(
  state: DurableState,
  { role, settings }: AppOptions,
  options: EmbeddedQueueOptions,
): Promise<ToolQueue> {
  if (state.redis === undefined) return createEmbeddedQueue(options);
  const { createBullQueue } = await import("../tool-queue/bullmq/queue.ts");
  const { connection, prefix } = state.redis;
  const { lockMs } = settings.config.redis;
  return createBullQueue({
    ...options,
    connect: connection.forBullMq,
    prefix,
    bus: state.bus,
    runs: role !== "platforms",
    timing: { lockMs, stalledMs: lockMs / 2, graceMs: lockMs / 2 },
  });
}

async function selectProviders({ settings, providers }: AppOptions, signal: AbortSignal) {
  return providers === undefined
    ? await createProviders(providerSettings(settings), signal)
    : { providers, statuses: [] };
}
