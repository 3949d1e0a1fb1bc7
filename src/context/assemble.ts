/**
 * Context assembly: everything that the model sees in one step.
 *
 *   1. render the stable prefix: identity, procedures, skill index, tool notes
 *   2. read the history and what memory has on the newest message
 *   3. choose what has room, and render it (prompt.ts)
 *   4. record the outcome once the request is sent
 *
 * A request begins with what the one before it sent, so that the service reads that from its cache. What changes comes last.
 *
 * Never calls a model. Brain name: prefrontal.
 */
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { Redact } from "../lib/redact.ts";
import type { ContextBuilder, ContextInput, ContextPreviews, SkillBrief } from "../ports/context.ts";
import type { EphemeralTexts } from "../ports/ephemeral.ts";
import type { Memory } from "../ports/memory.ts";
import type { Scope } from "../ports/message.ts";
import type { ModelRequest } from "../ports/provider.ts";
import type { NoteSource, ShownContext } from "../ports/shown-context.ts";
import type { ToolSpec } from "../ports/tool.ts";
import { offerOf } from "../ports/tool-offer.ts";
import type { TurnRecord } from "../ports/turn.ts";
import { originsOfTurn } from "../ports/turn-origins.ts";
import { type Payer, payerOf } from "../ports/usage.ts";
import { createBrainFiles } from "./brain-files.ts";
import { shareOf } from "./budget.ts";
import { createMemoryPieces } from "./candidates.ts";
import type { History, ReadHistory } from "./history-store.ts";
import { createPrefix } from "./prefix.ts";
import { previewOf } from "./preview.ts";
import { type Assembled, assemblePrompt, type ContextConfig } from "./prompt.ts";
import { type ContinuedPrompt, continuePrompt } from "./prompt-request.ts";
import { createRecall } from "./recall.ts";
import { createRuntimeClock } from "./sections.ts";
import { sourceKey, withCurrent, withoutGone } from "./shown.ts";
import { createSnapshots } from "./snapshot.ts";
import { createSteadyHistory } from "./steady-history.ts";

export interface ContextBuilderOptions {
  workspace: string;
  history: History;
  /** Whether the conversation started over after the turn had begun. */
  isLeftBehind?(turn: TurnRecord): Promise<boolean>;
  /** True if older exchanges can be summarised while a turn runs. */
  isCompacting: boolean;
  memory: Memory;
  skills(conversationId: string): SkillBrief[];
  /** All tools, even those not offered to the model: their specs say what earlier calls may have read. */
  tools(conversationId: string): readonly ToolSpec[];
  config: ContextConfig;
  ephemeral: Pick<EphemeralTexts, "get">;
  redact: Redact;
  log: Log;
  /** The preferred model as `provider/model`, for snapshots. */
  defaultModel: string;
  preferredModel?(conversationId: string, scope: Scope): Promise<string | undefined>;
  /** The digest that names a person to model services. */
  endUserOf?(person: Pick<Payer, "platform" | "user">): Promise<string | undefined>;
  now?(): number;
}

/** Of the tokens of a prompt that a model has refused as too long. */
const shorterShare = 0.5;
const noteOfShorter = "asked again with half the tokens or less, because the model refused the prompt as too long";
const noteOfFitting = "built within fewer tokens, because the model takes no more";

interface AssembledTurn extends Assembled {
  history: ReadHistory;
  /** Assembles the same sources within another budget. */
  within(contextTokens: number): Assembled;
}

export interface ContinuedPrompts {
  /**
   * The prompt of the conversation's last request and its answer, as the next request begins, and then `text`. Of `read`, what no
   * longer holds is left out. Records nothing. `turn` has ended; its words have been removed.
   */
  continued(turn: TurnRecord, read: ReadHistory, text: string): Promise<ContinuedPrompt>;
}

export function createContextBuilder(
  options: ContextBuilderOptions,
): ContextBuilder & ContextPreviews & ContinuedPrompts {
  const { workspace, config, log, history, ephemeral } = options;
  const now = options.now ?? Date.now;
  const clock = createRuntimeClock();
  const memoryPieces = createMemoryPieces();
  const renderPrefix = createPrefix(createBrainFiles(workspace, log), config.contextTokens, config.shares);
  const steadyHistory = options.isCompacting ? createSteadyHistory(history) : undefined;
  const skillShare = shareOf(config.contextTokens, config.shares, "skills");
  const recall = createRecall(options.memory, log, now);
  // Only log a failure, because a full disk must not stop the answer.
  const snapshots = createSnapshots(workspace, options.redact, (turnId, thrown) =>
    log.error({ turnId, error: messageOf(thrown) }, "could not write the snapshot of a model call"),
  );

  function writeSnapshot({ turn, step }: ContextInput, assembled: Assembled): string {
    const [model, budgetTokens] = [options.defaultModel, config.contextTokens];
    return snapshots.write({ ...assembled, turn, step, at: now(), model, budgetTokens });
  }

  async function readHistory(turn: TurnRecord, tools: readonly ToolSpec[], about: Promise<unknown>) {
    const read = await (steadyHistory ?? history).read(turn.conversationId, turn.id, tools);
    await about;
    return { ...read, has: await askKnown(read, turn.shown) };
  }

  /** Ask after `recall.about`. */
  async function askKnown({ exchanges }: ReadHistory, running: readonly ShownContext[] = []) {
    const shown = [...exchanges.flatMap((exchange) => exchange.shown ?? []), ...running];
    const known = await recall.known(shown.flatMap(({ pieces }) => pieces.flatMap(({ source }) => source ?? [])));
    return (source: NoteSource) => known.has(sourceKey(source));
  }

  /** `read`: the turn with all that it has read, also what was deleted since. */
  async function assembleTurn(input: ContextInput, read = input.turn): Promise<AssembledTurn> {
    const { turn } = input;
    const tools = options.tools(turn.conversationId);
    const about = recall.about(turn);
    const reads = Promise.all([
      readHistory(turn, tools, about),
      about,
      options.preferredModel?.(turn.conversationId, turn.scope),
      options.endUserOf?.(payerOf(turn)),
    ]);
    // Render what needs none of them while the search works in its thread. A failure is that of the await below.
    reads.catch(() => {});
    const briefs = options.skills(turn.conversationId);
    const own = originsOfTurn(read, tools);
    const offer = offerOf(input.tools);
    const prefix = renderPrefix(briefs, offer);
    const [stored, recalled, preferredModel, endUser] = await reads;
    const { has, ...history } = stored;
    const current = { briefs, named: offer.named, digest: recalled.digest, has };
    const exchanges = withCurrent(history.exchanges, current, skillShare);
    const sources = {
      ...{ prefix, offer, briefs, recalled, clock, memoryPieces, origins: own, ephemeral },
      history: { ...history, exchanges },
      shown: withoutGone(turn.shown ?? [], current),
      now: now(),
    };
    const within = (contextTokens: number): Assembled => {
      const assembled = assemblePrompt(input, { ...config, contextTokens }, sources);
      if (preferredModel !== undefined) assembled.request.preferredModel = preferredModel;
      if (endUser !== undefined) assembled.request.endUser = endUser;
      return assembled;
    };
    return { ...within(config.contextTokens), within, history: stored };
  }

  function drop(turnId: string): void {
    recall.drop(turnId);
    steadyHistory?.drop(turnId);
  }

  return {
    prepare: (message) => recall.prepare(message),
    async build(asked) {
      const [turn] = await Promise.all([history.current(asked.turn, true), history.note(asked.turn)]);
      const input = { ...asked, turn };
      const assembled = await assembleTurn(input, asked.turn);
      const snapshotPath = writeSnapshot(input, assembled);
      const { request, origins, allocation, within, shown } = assembled;
      const again = (tokens: number, note: string): ModelRequest => {
        const smaller = within(Math.floor(tokens));
        smaller.notes.push(note);
        writeSnapshot(input, smaller);
        return smaller.request;
      };
      const { usedTokens } = allocation;
      const fitting = (tokens: number) => (usedTokens <= tokens ? request : again(tokens, noteOfFitting));
      const shorter = (tokens = usedTokens) => again(Math.min(tokens, usedTokens * shorterShare), noteOfShorter);
      return { request, fitting, shorter, snapshotPath, estimatedTokens: usedTokens, origins, shown };
    },
    async preview(turn, tools) {
      const { allocation, history: stored, request } = await assembleTurn({ turn, step: 1, tools, notes: [] });
      drop(turn.id);
      const model = request.preferredModel ?? options.defaultModel;
      return previewOf(allocation, stored.summary, { model, budgetTokens: config.contextTokens });
    },
    async continued(turn, read, text) {
      const recalled = await recall.about(turn);
      recall.drop(turn.id);
      const [briefs, offer] = [options.skills(turn.conversationId), offerOf(options.tools(turn.conversationId))];
      const current = { briefs, named: offer.named, digest: recalled.digest, has: await askKnown(read) };
      const stored = { ...read, exchanges: withCurrent(read.exchanges, current, skillShare) };
      return continuePrompt(turn, text, { prefix: renderPrefix(briefs, offer), offer, clock, history: stored });
    },
    async remember(turn) {
      drop(turn.id);
      if ((await options.isLeftBehind?.(turn)) === true) return;
      await history.add(turn, options.tools(turn.conversationId));
    },
    current: (turn) => history.current(turn, false),
    async amend(key, change, isTaken) {
      for (const words of await history.amend(key, change, isTaken)) await options.memory.changeEpisode(words);
    },
    forget: (conversationId, person) => history.clear(conversationId, person),
    flush: () => snapshots.flush(),
  };
}
