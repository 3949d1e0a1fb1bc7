/** The `/remora` commands, in the order in which help lists them. */
import { rm } from "node:fs/promises";
import { exportedMessages, type StoredChatLog } from "../chat-log/chat-log.ts";
import { createAnsweredTurns } from "../commands/answered-turns.ts";
import { contextCommand } from "../commands/context-command.ts";
import { exportCommand } from "../commands/export-command.ts";
import { feedbackCommand } from "../commands/feedback-command.ts";
import { forgetCommand } from "../commands/forget-command.ts";
import { grantsCommand } from "../commands/grants-command.ts";
import { memoryCommand } from "../commands/memory-command.ts";
import { newCommand } from "../commands/new-command.ts";
import { createCommands } from "../commands/registry.ts";
import { skillCommand } from "../commands/skill-command.ts";
import { skillsCommand } from "../commands/skills-command.ts";
import { statusCommand } from "../commands/status-command.ts";
import { stopCommand } from "../commands/stop-command.ts";
import type { TimeZones } from "../commands/time-zone-command.ts";
import { undoCommand } from "../commands/undo-command.ts";
import { usageCommand } from "../commands/usage-command.ts";
import { whyCommand } from "../commands/why-command.ts";
import { listSnapshots } from "../context/explain.ts";
import { forgetSnapshots } from "../context/forget-snapshots.ts";
import type { OwnedMemory } from "../memory/memory.ts";
import type { Access } from "../ports/access.ts";
import type { Commands } from "../ports/command.ts";
import { checkText, type HealthCheck, ownerText } from "../ports/health.ts";
import type { Author, Scope } from "../ports/message.ts";
import type { Platform } from "../ports/platform.ts";
import { costOf } from "../usage/prices.ts";
import type { Answers } from "./answers.ts";
import type { ConversationParts } from "./conversations.ts";
import type { Models } from "./models.ts";
import type { AppOptions } from "./options.ts";
import type { SandboxParts } from "./sandbox.ts";
import type { State } from "./state.ts";
import type { Tools } from "./tools.ts";

export interface CommandsParts {
  sandbox: SandboxParts;
  models: Models;
  tools: Tools;
  memory: OwnedMemory;
  chatLog: StoredChatLog;
  parts: ConversationParts;
  answers: Answers;
  access: Access;
  timeZones: Pick<TimeZones, "command" | "forget">;
  isOwner(platform: string, person: Author): boolean;
  connected(): Iterable<Platform>;
  platform(name: string): Platform | undefined;
  checks(): readonly HealthCheck[];
  mayRead(platform: string, conversationId: string, person: Author): Promise<boolean | undefined>;
}

export function buildCommands(
  { settings: { config, workspace }, log }: AppOptions,
  { ledger }: State,
  {
    memory,
    chatLog,
    sandbox,
    models,
    tools,
    parts,
    answers,
    access,
    timeZones,
    isOwner,
    connected,
    platform,
    mayRead,
    checks,
  }: CommandsParts,
): Commands {
  const { conversations, approvals, context, history, registry } = parts;

  async function forgetShown(scopes: ReadonlySet<Scope>): Promise<number> {
    context.flush();
    return await forgetSnapshots(workspace, async (turnId) => {
      const turn = await ledger.get("turn", turnId);
      // If the ledger no longer has the turn, its owner is unknown, so remove its snapshots too.
      return turn === undefined || scopes.has(turn.body.scope);
    });
  }

  const promptCost = (model: string, inputTokens: number) =>
    costOf(model, { inputTokens, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }, models.priceOf);

  async function newestSnapshot(turnIds: ReadonlySet<string>): Promise<string | undefined> {
    context.flush();
    return (await listSnapshots(workspace)).findLast(({ turnId }) => turnIds.has(turnId))?.path;
  }

  /** The summaries of conversations that the person took part in and can still read, everything in memory, and their messages in channels. */
  async function exportAll(platform: string, by: Author) {
    const links = { conversations: registry.list, summaryOf: history.exportSummary, mayRead };
    const { exportedSummaries } = await import("../commands/exported-summaries.ts");
    const summaries = await exportedSummaries(links, platform, by);
    const messages = exportedMessages(await chatLog.ofPerson(platform, by.id));
    return [...summaries, ...(await memory.exportAll({ userId: by.id })), ...messages];
  }

  const turnsHere = createAnsweredTurns({ ledger, mayRead: answers.records.mayRead });

  return createCommands(
    [
      stopCommand(conversations),
      newCommand(async (name, conversationId) => {
        await context.forget(conversationId);
        await platform(name)?.ended?.(conversationId);
      }),
      statusCommand(conversations, ({ platform, by }) => [
        ...[...connected()].map((platform) => ({ name: platform.name, detail: platform.health().detail })),
        ...checks()
          .filter(({ state }) => state !== "ok")
          .map((check) => ({ name: check.name, detail: isOwner(platform, by) ? ownerText(check) : checkText(check) })),
      ]),
      grantsCommand(approvals),
      undoCommand(sandbox.drafts),
      skillsCommand(tools.toolbox.skillsFor, isOwner),
      models.choice.command,
      timeZones.command,
      skillCommand,
      access.command,
      contextCommand({
        ...{ ledger, context, promptCost, newestSnapshot },
        tools: (conversationId) => tools.toolbox.specs(conversationId),
        isCompacting: config.context.compaction === "model",
      }),
      usageCommand({ meter: models.usage, ledger, limits: config.limits, isOwner }),
      memoryCommand(memory),
      whyCommand({ turnsHere, show: answers.records.show }),
      ...(config.answers.feedback ? [feedbackCommand({ turnsHere, ...answers.ratings })] : []),
      exportCommand({ exportAll }),
      forgetCommand({
        conversations: registry,
        memory: memory.forget,
        async messages(owner) {
          await chatLog.forget(owner);
          if ("userId" in owner) await timeZones.forget(owner.platform, owner.userId);
        },
        history: context.forget,
        tasks: tools.taskFiles.forget,
        snapshots: forgetShown,
        outputs: (scope) => rm(sandbox.outputsFolder(scope), { recursive: true, force: true }),
        isOwner,
      }),
    ],
    ledger,
    log,
  );
}
