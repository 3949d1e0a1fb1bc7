/** `/remora context`: shows what the model would see if the last message came again, and what that would cost. */
import { randomUUID } from "node:crypto";
import { toIsoDate } from "../lib/iso-date.ts";
import { formatNumber } from "../lib/text/format-number.ts";
import { formatDollars } from "../lib/text/format-usage.mjs";
import { asCode } from "../lib/text/sanitize.ts";
import type { CommandHandler } from "../ports/command.ts";
import type { ContextPreview, ContextPreviews, ContextSection } from "../ports/context.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { InboundCommand } from "../ports/message.ts";
import type { ToolSpec } from "../ports/tool.ts";
import type { TurnRecord } from "../ports/turn.ts";

export interface ContextCommandOptions {
  ledger: Ledger;
  context: ContextPreviews;
  tools(conversationId: string): ToolSpec[];
  /** Cost of a prompt in US dollars, without the response; undefined if the model's price is unknown. */
  promptCost(model: string, tokens: number): number | undefined;
  /** Path of the newest snapshot among these turns; undefined if this machine has none. */
  newestSnapshot(turnIds: ReadonlySet<string>): Promise<string | undefined>;
  /** True if a model summarises older turns. */
  isCompacting: boolean;
}

const maxSearchedTurns = 200;
const maxShownModelCharacters = 100;
const maxShownPathCharacters = 200;

const sectionNames: Readonly<Record<ContextSection, string>> = {
  always: "your message and the tools",
  identity: "identity",
  prefrontal: "procedures",
  memory: "memory",
  skills: "skills",
  history: "this conversation",
};

export function contextCommand(options: ContextCommandOptions): CommandHandler {
  const { ledger, context, promptCost, isCompacting } = options;

  /** If the conversation has no turns, uses the newest thread: not every service allows commands in a thread. */
  async function newestTurns({ conversationId, scope }: InboundCommand): Promise<TurnRecord[]> {
    const newest = { order: "newest", limit: maxSearchedTurns } as const;
    const here = await ledger.list("turn", { ...newest, group: conversationId });
    if (here.length > 0) return here.map(({ body }) => body);
    const around = (await ledger.list("turn", newest)).map(({ body }) => body).filter((turn) => turn.scope === scope);
    return around.filter((turn) => turn.conversationId === around[0]?.conversationId);
  }

  async function run(command: InboundCommand): Promise<string> {
    const turns = await newestTurns(command);
    const [newest] = turns;
    if (newest === undefined) return "You have not asked me anything here yet, so there is nothing to show.";
    const preview = await context.preview(asNextTurn(newest), options.tools(newest.conversationId));
    const snapshot = await options.newestSnapshot(new Set(turns.map(({ id }) => id)));
    const isHere = newest.conversationId === command.conversationId && command.isBesideThreads !== true;
    const place = isHere ? "here" : "in the newest thread here";
    return [
      `If the last question came again ${place}, ${asCode(preview.model, maxShownModelCharacters)} would see about ${formatNumber(preview.usedTokens)} of at most ${formatNumber(preview.budgetTokens)} tokens:`,
      ...preview.sections.map((section) => sectionText(section, preview)),
      ...leftOutText(preview, isCompacting),
      "",
      costText(preview, promptCost(preview.model, preview.usedTokens)),
      snapshot === undefined
        ? "There is no snapshot of the last request on this machine."
        : `The last request is in ${asCode(snapshot, maxShownPathCharacters)} in the workspace, word for word.`,
    ].join("\n");
  }

  return { usage: "context", description: "show what the model sees in this conversation, and what it costs", run };
}

/** Returns a new turn that repeats the last message. */
function asNextTurn(turn: TurnRecord): TurnRecord {
  const messages = turn.messages.slice(-1).map((message) => ({ ...message, attachments: [] }));
  return { ...turn, id: `preview-${randomUUID()}`, messages, steps: [], news: [] };
}

function sectionText({ section, tokens, kept, leftOut }: ContextPreview["sections"][number], preview: ContextPreview) {
  const details =
    section === "history" ? conversationText(preview) : section === "memory" ? memoryText(kept, leftOut) : "";
  return `- ${sectionNames[section]}: ${formatNumber(tokens)}${details === "" ? "" : ` (${details})`}`;
}

function conversationText({ exchanges, summary }: ContextPreview): string {
  const { shown } = exchanges;
  const full =
    shown === 0 ? [] : [counted(shown, "earlier request with its answer", "earlier requests with their answers")];
  const rest =
    summary === undefined
      ? []
      : [`a summary of ${formatNumber(summary.turns)} older ones, written ${toIsoDate(summary.at)}`];
  return [...full, ...rest].join(", and ");
}

function memoryText(kept: number, leftOut: number): string {
  if (kept + leftOut === 0) return "nothing new fits the question";
  return `${counted(kept, "passage", "passages")}${leftOut === 0 ? "" : `, ${formatNumber(leftOut)} left out`}`;
}

function leftOutText({ exchanges: { leftOut } }: ContextPreview, isCompacting: boolean): string[] {
  if (leftOut === 0) return [];
  const what = counted(leftOut, "older request does", "older requests do");
  const then = isCompacting ? " A summary of them is due." : " Ask me to recall what you need from them.";
  return [`${what} not fit and ${leftOut === 1 ? "is" : "are"} left out.${then}`];
}

function costText({ model }: ContextPreview, cost: number | undefined): string {
  if (cost === undefined)
    return `The cost is unknown: models.prices has no price for ${asCode(model, maxShownModelCharacters)}.`;
  if (cost === 0) return "With this model, that costs nothing.";
  return `That costs about ${formatDollars(cost)} when the service reads all of it anew (a quarter more if it charges for its cache), and much less when it has it in its cache. The answer costs extra.`;
}

function counted(count: number, one: string, many: string): string {
  return `${formatNumber(count)} ${count === 1 ? one : many}`;
}
