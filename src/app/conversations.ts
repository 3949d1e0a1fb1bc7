/** Builds the parts that a turn needs, approvals, questions, schedules, and the turn scheduler. */
import { join } from "node:path";
import { createApprovals } from "../approvals/approvals.ts";
import { approvalPolicy, backfillLimits } from "../config/derive.ts";
import type { History } from "../context/history-store.ts";
import { createAskDirectly } from "../engine/conversation/ask-directly.ts";
import { createConversationRegistry } from "../engine/conversation/conversation-registry.ts";
import { createConversations } from "../engine/conversation/conversations.ts";
import { minWaitMs } from "../engine/conversation/waiting-room.ts";
import { createModelNotes } from "../engine/turn/answered-by.ts";
import { createEarlierMessages } from "../engine/turn/earlier-messages.ts";
import { runTurn } from "../engine/turn/run-turn.ts";
import { createTurnFiles } from "../files/turn-files.ts";
import { messageOf } from "../lib/errors.ts";
import { logContext } from "../lib/log-context.ts";
import type { OwnedMemory } from "../memory/memory.ts";
import { createScopedMemory } from "../memory/scoped.ts";
import type { Access, BarredBecause, MayRepeat } from "../ports/access.ts";
import type { ApprovalDesk } from "../ports/approval.ts";
import type { ChatSearch } from "../ports/chat-services.ts";
import type { ContextBuilder, ContextPreviews } from "../ports/context.ts";
import type { ConversationRegistry, Conversations } from "../ports/conversation.ts";
import type { FileInspector } from "../ports/file-inspector.ts";
import type { Author, ReplyTarget } from "../ports/message.ts";
import { isNoRoute, type Platform, type PlatformHandlers } from "../ports/platform.ts";
import type { Questions } from "../ports/question.ts";
import type { Schedules } from "../ports/schedule.ts";
import type { TurnDeps } from "../ports/turn-deps.ts";
import type { TurnReports } from "../ports/turn-report.ts";
import { isAtLeast } from "../ports/visitor.ts";
import { createQuestions } from "../questions/questions.ts";
import type { Deliveries } from "../response/deliveries.ts";
import { createElsewhere } from "../response/elsewhere.ts";
import { readModel } from "../response/parse.ts";
import { describeMisfit } from "../response/schema-check.ts";
import { createSchedules } from "../schedules/schedules.ts";
import { askTemplateOf, contentOf, gateRules, recordedName } from "../skill-runtime/library/library.ts";
import { createPluginServices } from "../skill-runtime/plugins/plugin-services.ts";
import type { Accounts } from "../web/accounts/accounts.ts";
import { openCompactor, openContext, openHistory } from "./context.ts";
import type { PersonNow } from "./current-person.ts";
import { buildFooters } from "./footers.ts";
import type { Late } from "./late.ts";
import type { Models } from "./models.ts";
import { type AppOptions, takesTurns } from "./options.ts";
import type { SandboxParts } from "./sandbox.ts";
import type { Skills } from "./skills.ts";
import type { State } from "./state.ts";
import type { Tools, ToolsParts } from "./tools.ts";
import { buildTranscription } from "./transcription.ts";
import { buildTurnReports } from "./turn-reports.ts";

export interface ConversationParts {
  conversations: Conversations;
  approvals: ApprovalDesk;
  questions: Questions;
  schedules: Schedules;
  context: ContextBuilder & ContextPreviews;
  history: History;
  registry: ConversationRegistry;
  reports: TurnReports;
  close(): Promise<void>;
}

export interface ConversationLinks {
  memory: OwnedMemory;
  sandbox: SandboxParts;
  skills: Skills;
  models: Models;
  tools: Tools;
  deliveries: Deliveries;
  platform(name: string): Platform | undefined;
  serves(conversationId: string): Promise<boolean>;
  searchChat: ChatSearch;
  handlers: Late<PlatformHandlers>;
  conversations: Late<Conversations>;
  approvals: Late<ApprovalDesk>;
  accounts: Late<Accounts>;
  services: ToolsParts["services"];
  personNow: PersonNow;
  mayRepeat: MayRepeat;
  access: Access;
  barredBecause: BarredBecause;
  /** Aborts when the grace period of a stop is over. */
  overdue: AbortSignal;
}

const minPageWaitMs = 100;
const crashText = "⚠️ Something went wrong inside Remora while I worked on this. Please ask again.";

export function buildConversations(options: AppOptions, state: State, links: ConversationLinks): ConversationParts {
  const { settings, role, log, redact } = options;
  const { ledger, events, leases, bus, wrap } = state;
  const { config } = settings;
  const transcribe = buildTranscription(options, state, links.models.usage);
  const { sandbox, tools, deliveries, memory } = links;
  const registry = createConversationRegistry(ledger);
  const reports = buildTurnReports(state, links.tools.toolbox.specs);
  const limits = backfillLimits(settings);
  const earlier = createEarlierMessages({ ledger, store: state.store, platform: links.platform, limits, log });
  const history = openHistory(options, state);
  const context = openContext(options, state, { ...links, registry, history, earlier });
  const compactor = openCompactor(options, state, { ...links, history, context });

  const approvals = openApprovals(options, state, links);
  links.approvals.set(approvals);
  const elsewhere = createElsewhere({
    ...{ openReply: deliveries.open, log },
    reach: (platform) => links.platform(platform)?.reach,
    owners: () => settings.config.safety.owners,
    endSchedule: (id) => schedules.end(id),
  });
  const questions = createQuestions({
    directTarget: elsewhere.directTarget,
    ...{ ledger, bus, redact, log, barredBecause: links.barredBecause },
    show: async (card) => (await deliveries.current(card.target)).question(card),
  });
  const schedules: Schedules = createSchedules({
    ...{ ledger, log, onOwnerless: elsewhere.tellOwnerless },
    accept: (message) => links.handlers.get().onMessage(message),
    ownerNow: ({ platform, conversationId, owner }) => links.personNow(owner, platform, conversationId),
  });
  let inspector: Promise<FileInspector> | undefined;
  const files = createTurnFiles({
    ...{ ledger, fileOrigins: sandbox.fileOrigins, platform: links.platform, log },
    drafts: sandbox.drafts,
    inspector: {
      async inspect(file, signal) {
        inspector ??= import("../plugin-sdk/documents/file-inspector.ts").then((made) => made.createFileInspector());
        return await (await inspector).inspect(file, signal);
      },
    },
    ...(transcribe === undefined ? {} : { transcribe }),
    filesRoot: join(settings.workspace, "files"),
    limits: {
      maxBytes: config.files.maxMegabytes * 1024 * 1024,
      inboxBytes: config.files.inboxMegabytes * 1024 * 1024,
    },
  });
  const askDirectly = createAskDirectly({
    ...{ ledger, log, access: links.access, openReply: deliveries.open },
    reach: (platform) => links.platform(platform)?.reach,
    accept: (message) => links.conversations.get().accept(message),
  });
  links.services.set(
    createPluginServices({
      ...{ ledger, files, questions, schedules, platform: links.platform, searchChat: links.searchChat },
      askDirectly,
      memoryFor: createScopedMemory(memory, tools.isOwnersCall),
    }),
  );

  const footer = buildFooters(options, reports);
  const deps: Omit<TurnDeps, "deliver"> = {
    ...{ ledger, events, log, approvals, ephemeral: state.ephemeral },
    context: wrap("context", context),
    provider: wrap("provider", links.models.provider),
    modelNotes: createModelNotes(),
    askDirectly,
    readModel: wrap("readModel", readModel),
    ...elsewhere,
    toolbox: tools.toolbox,
    gate: wrap("gate", links.skills.gate),
    containment: sandbox.containment,
    drafts: sandbox.drafts,
    isGivenFolder: sandbox.isGivenFolder,
    queue: tools.queue,
    memory: wrap("memory", memory),
    earlier,
    taskFiles: tools.taskFiles,
    files,
    usage: links.models.usage,
    footer,
    takeSteering: (turnId, conversationId) => links.conversations.get().takeSteering(turnId, conversationId),
    limits: config.turns,
  };
  const conversations = createConversations({
    ...{ ledger, events, log, leases, bus, serves: links.serves },
    takesTurns: takesTurns(role),
    resumeOrphansEveryMs: Math.min(5_000, config.redis.lockMs / 2),
    overlap: config.turns.overlap,
    concurrency: config.turns.concurrency,
    lookAgain: async (message) => await links.platform(message.platform)?.lookAgain?.(message),
    openReply: async (target) =>
      links.platform(target.platform) === undefined ? undefined : await deliveries.open(target),
    // On the page, a line disturbs nobody, and nothing else would show that the message is there.
    minWaitMs: (platform) => (platform === "local" ? minPageWaitMs : minWaitMs),
    async run(turn, signal, isLost) {
      const deliver = (target: ReplyTarget) => deliveries.begin(target, isLost);
      const run = logContext.run({ turnId: turn.id }, () => runTurn(turn, { ...deps, deliver }, signal));
      const end = await run.finally(() => deliveries.end(turn.id));
      if (end === "done" || end === "failed" || end === "stopped") compactor?.consider(turn);
      return end;
    },
    onCrash: async (turn) => (await deliveries.open(turn.target)).fail("", crashText, await footer(turn, "failed")),
    cancelApprovals: approvals.cancel,
    settleDecided: sandbox.drafts.settleDecided,
    workingFolder: sandbox.workingFolder,
  });
  links.conversations.set(conversations);

  return {
    ...{ conversations, approvals, questions, schedules, context, history, registry, reports },
    async close() {
      await conversations.close(links.overdue);
      await compactor?.close();
      await approvals.whenIdle();
      context.flush();
    },
  };
}

function openApprovals(
  { settings, log }: AppOptions,
  { ledger, leases, events, audit, auditLog, mask, live }: State,
  { sandbox: { report, drafts }, skills: { gate, library }, tools: { toolbox }, ...links }: ConversationLinks,
): ApprovalDesk {
  const policy = {
    ...approvalPolicy(settings),
    ownersOnly: (tool: string) =>
      (!report.holds || report.layers === "copy") && gateRules(library.current()).shellParameters.has(tool),
  };
  live.onApplied(() => Object.assign(policy, approvalPolicy(settings)));
  return createApprovals({
    ...{ ledger, events, audit, gate, policy, mask, log, barredBecause: links.barredBecause },
    changes: drafts,
    files: drafts,
    repeats: {
      mayRepeat: links.mayRepeat,
      accept: (message) => links.conversations.get().accept(message),
    },
    budgets: links.models.usage,
    notify: {
      get where() {
        return settings.config.safety.notify;
      },
      get atMost() {
        return settings.config.safety.notifyAtMost;
      },
      leases,
      serves: links.serves,
      reach: (platform) => links.platform(platform)?.reach,
      post: async (card) => (await links.deliveries.open(card.target)).ask(card),
      say: async (target, note) =>
        await (await links.deliveries.open(target)).note(note).catch((thrown: unknown) => {
          // It would be refused again and again.
          if (!isNoRoute(thrown)) throw thrown;
          log.warn({ turnId: target.turnId, error: messageOf(thrown) }, "nobody would see a line about a card");
        }),
    },
    wake(turnId) {
      const woken = links.conversations.get().wake(turnId);
      woken.catch((thrown: unknown) =>
        log.warn({ turnId, error: messageOf(thrown) }, "could not wake a turn; a sweep tries again"),
      );
    },
    onSettled: async (card) => (await links.deliveries.open(card.target)).settle(card),
    async remember(feedback) {
      const tool = recordedName(library.current(), feedback.tool);
      await links.memory.recordFeedback({
        ...feedback,
        tool,
        summary: feedback.summary.replaceAll(feedback.tool, tool),
      });
      await auditLog.flush();
    },
    checkInput: (conversationId, tool, input) => describeMisfit(toolbox.specs(conversationId), tool, input),
    skillFile: (tool) => contentOf(library.current(), tool),
    askOf: (tool) => askTemplateOf(library.current(), tool),
    isPresent: async (person, { platform, conversationId }) =>
      (await links.platform(platform)?.mayRead?.(conversationId, person)) ?? true,
    authority: (person, { platform, conversationId }) =>
      platform === "account"
        ? accountNow(links.accounts.get(), person)
        : links.personNow(person, platform, conversationId),
  });
}

/** Undefined if the account was removed, or may not answer any more. */
async function accountNow(accounts: Accounts, person: Author): Promise<Author | undefined> {
  const role = await accounts.roleOf({ platform: "account", id: person.id, name: person.name });
  return role !== undefined && isAtLeast(role, "approver") ? person : undefined;
}
