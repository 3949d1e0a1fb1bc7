/** Builds the history of conversations, its summaries, and the context builder. */
import { contextSettings, historySettings, historyTokens } from "../config/derive.ts";
import { type ContinuedPrompts, createContextBuilder } from "../context/assemble.ts";
import { type Compactor, createCompactor } from "../context/compaction.ts";
import { createHistory, type History } from "../context/history-store.ts";
import { createMessageChanges } from "../context/message-changes.ts";
import type { ForgettableEarlierMessages } from "../engine/turn/earlier-messages.ts";
import type { ContextBuilder, ContextPreviews } from "../ports/context.ts";
import type { ConversationRegistry } from "../ports/conversation.ts";
import type { Memory } from "../ports/memory.ts";
import { readModel } from "../response/parse.ts";
import { briefs } from "../skill-runtime/library/library.ts";
import type { Models } from "./models.ts";
import type { AppOptions } from "./options.ts";
import type { State } from "./state.ts";
import type { Tools } from "./tools.ts";

interface ContextLinks {
  memory: Memory;
  models: Models;
  tools: Tools;
  registry: ConversationRegistry;
  history: History;
  earlier: ForgettableEarlierMessages;
}

export function openHistory({ settings, log }: AppOptions, { store, withLock }: State): History {
  // The process that hears of an edit or a deletion changes histories, too, beside the holder of the conversation's lease.
  return createHistory({
    ...{ store, log, changes: createMessageChanges(store) },
    ...historySettings(settings),
    ...(withLock === undefined ? {} : { withLock }),
  });
}

/** Undefined if no model may be called for summaries. The demo model can't summarise. */
export function openCompactor(
  { settings, log }: AppOptions,
  { leases, events }: State,
  {
    history,
    models,
    tools,
    context,
  }: Pick<ContextLinks, "history" | "models" | "tools"> & { context: ContinuedPrompts },
): Compactor | undefined {
  const { contextTokens, maxOutputTokens } = contextSettings(settings);
  if (settings.config.context.compaction === "cut") return undefined;
  const compactor = createCompactor({
    ...{ history, provider: models.provider, readModel, usage: models.usage, leases, events, log },
    ...{ contextTokens, historyTokens: historyTokens(settings), maxOutputTokens },
    tools: (conversationId) => tools.toolbox.specs(conversationId),
    preferredModel: models.choice.preferred,
    endUserOf: models.endUserOf,
    continued: context.continued,
  });
  return {
    ...compactor,
    consider(turn) {
      // Another model may have come since the start.
      if (!models.provider.model.startsWith("demo/")) compactor.consider(turn);
    },
  };
}

export function openContext(
  { settings, log, redact }: AppOptions,
  { ephemeral }: Pick<State, "ephemeral">,
  { memory, registry, history, earlier, models, tools: { toolbox } }: ContextLinks,
): ContextBuilder & ContextPreviews & ContinuedPrompts {
  const context = createContextBuilder({
    ...{ history, memory, ephemeral, redact, log },
    isCompacting: settings.config.context.compaction === "model",
    workspace: settings.workspace,
    skills: (conversationId) => briefs(toolbox.skillsFor(conversationId)),
    tools: (conversationId) => toolbox.specs(conversationId),
    config: contextSettings(settings),
    get defaultModel() {
      return models.provider.model;
    },
    preferredModel: models.choice.preferred,
    endUserOf: models.endUserOf,
    isLeftBehind: earlier.isLeftBehind,
  });
  return {
    ...context,
    // `/remora forget` uses the registry to find what is remembered, so register the conversation first.
    async remember(turn) {
      await registry.note(turn);
      await context.remember(turn);
    },
    async forget(conversationId, person) {
      // Do this before clearing the history, or after a crash in between, the platform's old messages would be read
      // again.
      if (person === undefined) await earlier.startOver(conversationId, Date.now());
      await context.forget(conversationId, person);
    },
  };
}
