/** Candidates for the prompt, each with a text, a score and a cost. */
import { createLruMap } from "../lib/lru-map.ts";
import type { SkillBrief } from "../ports/context.ts";
import type { MemoryHit } from "../ports/memory.ts";
import type { InboundMessage } from "../ports/message.ts";
import { fromMemory, type Origin, viaStore } from "../ports/origin.ts";
import type { ModelMessage } from "../ports/provider.ts";
import type { NoteSource, ShownPiece } from "../ports/shown-context.ts";
import type { ToolSpec } from "../ports/tool.ts";
import { toolsOfSkill } from "../ports/tool-offer.ts";
import { originsOfDescriptions } from "../ports/turn-origins.ts";
import type { ContextItem } from "./budget.ts";
import type { Exchange } from "./history.ts";
import { renderTools } from "./named-tools.ts";
import { renderHit, renderPreferences, renderSkillBody } from "./sections.ts";
import { bodyTokens, type NewHit } from "./shown.ts";
import { renderSummary, type Summary } from "./summary.ts";
import { estimateTokens } from "./tokens.ts";
import { alwaysScore, triggeredSkills } from "./triggers.ts";

/** The origins of the text. Empty if the text comes from the agent or its operator. */
interface Sourced extends ContextItem {
  origins: readonly Origin[];
}

/** Sent with the prefix or the running turn, and listed here only for the snapshot. */
export interface FixedPiece extends Sourced {
  type: "fixed";
}

export interface TextPiece extends Sourced {
  type: "text";
  kind: ShownPiece["kind"];
  text: string;
  source?: NoteSource;
}

export interface HistoryPiece extends Sourced {
  type: "history";
  exchange: Exchange;
}

/** Sent before the earlier exchanges. */
export interface SummaryPiece extends Sourced {
  type: "summary";
  text: string;
}

export type Piece = FixedPiece | TextPiece | HistoryPiece | SummaryPiece;

/** In characters. Shorter texts are too generic to prove that a memory repeats the history. */
const minRecognisableCharacters = 16;
const recognisableCharacters = 200;
const maxRenderedHits = 200;
/** What people said, and what was answered. */
const episodesFolder = "brain/hippocampus/episodes/";

export function fixedPiece(
  section: ContextItem["section"],
  name: string,
  tokens: number,
  origins: readonly Origin[] = [],
): FixedPiece {
  return { type: "fixed", section, name, score: 1, tokens, isMandatory: true, origins };
}

export function shownPieceOf({ kind, name, text, origins, source }: TextPiece): ShownPiece {
  return { kind, name, text, origins: [...origins], ...(source === undefined ? {} : { source }) };
}

export type MemoryPieces = (hits: readonly NewHit[], digest: string, share: number) => TextPiece[];

/** Keeps what it has rendered, because a busy conversation finds the same passages again and again. */
export function createMemoryPieces(): MemoryPieces {
  const rendered = createLruMap<TextPiece>(maxRenderedHits);

  function pieceOf(hit: NewHit, longest: number): TextPiece {
    const key = [longest, hit.scope, hit.path, hit.heading, hit.at, hit.source.hash, hit.text].join("\0");
    const known = rendered.get(key);
    if (known !== undefined) return known;
    const name = `${hit.path} § ${hit.heading}`;
    const piece = { ...textPiece("note", name, 0, renderHit(hit, longest)), source: hit.source };
    rendered.set(key, piece);
    return piece;
  }

  return (hits, digest, share) => {
    const best = Math.max(...hits.map((hit) => hit.score));
    const longest = Math.floor(share / 4);
    const found = hits.map((hit): TextPiece => {
      const score = best > 0 ? Math.max(0, hit.score / best) : 0;
      return { ...pieceOf(hit, longest), score, origins: viaStore(hit.origins, fromMemory) };
    });
    return digest.trim() === ""
      ? found
      : [textPiece("preferences", "preferences", 1, renderPreferences(digest)), ...found];
  };
}

/**
 * Returns the tools that earlier turns have loaded and whose descriptions the prompt no longer has, then every skill that the
 * message brings up with its tools, best first. The budget decides how many of them are sent.
 */
export function skillPieces(
  briefs: readonly SkillBrief[],
  messages: readonly InboundMessage[],
  { named, loaded }: { named: readonly ToolSpec[]; loaded: readonly ToolSpec[] },
  share: number,
): TextPiece[] {
  const longest = bodyTokens(share);
  const said = messages.map((message) => message.text).join("\n");
  const asked = messages.flatMap((message) => message.skill ?? []);
  const triggered = triggeredSkills(briefs, said, asked);
  const names = new Set(triggered.map(({ brief }) => brief.name));
  const earlier = Map.groupBy(loaded, ({ skill }) => skill);
  const describing = (tools: readonly ToolSpec[]) => ({
    text: renderTools(tools),
    origins: originsOfDescriptions(tools),
  });
  return [
    ...[...earlier].flatMap(([skill, tools]) => {
      const { text, origins } = describing(tools);
      return names.has(skill) ? [] : [textPiece("skill", `tools of ${skill}`, alwaysScore, text, origins)];
    }),
    ...triggered.map(({ brief, score }) => {
      const known = new Set([...toolsOfSkill(brief.name, named), ...(earlier.get(brief.name) ?? [])]);
      const { text: tools, origins } = describing(named.filter((tool) => known.has(tool)));
      const text = [renderSkillBody(brief, longest), tools].filter((part) => part !== "").join("\n");
      return textPiece("skill", brief.name, score, text, origins);
    }),
  ];
}

/** Returns exchanges, oldest first. The newest is mandatory. */
export function historyPieces(exchanges: readonly Exchange[]): HistoryPiece[] {
  return exchanges.map((exchange, index) => {
    const age = exchanges.length - 1 - index;
    const isNewest = age === 0;
    const shown = exchange.shown ?? [];
    return {
      type: "history",
      section: "history",
      name: `${exchange.turnId}: ${(exchange.messages[0]?.text ?? "").slice(0, 60)}`,
      score: 1 / (1 + age),
      tokens: exchange.tokens.fresh,
      isMandatory: isNewest,
      origins: [
        ...viaStore(exchange.origins, "an earlier turn"),
        ...shown.flatMap(({ pieces }) => pieces.flatMap(({ origins }) => origins)),
      ],
      exchange,
    };
  });
}

/** Mandatory, because its size is limited and nothing else remains of the turns that it covers. */
export function summaryPieces(summary: Summary | undefined): SummaryPiece[] {
  if (summary === undefined) return [];
  const name = `summary of ${summary.turns} turns`;
  const origins = viaStore(summary.origins, "a summary of earlier turns");
  const { tokens } = summary;
  const text = renderSummary(summary);
  return [{ type: "summary", section: "history", name, score: 1, tokens, isMandatory: true, origins, text }];
}

export function withoutRepeats(hits: readonly MemoryHit[], shown: readonly Exchange[]) {
  // Any other note may say more than the words that it repeats.
  const isEpisode = ({ path }: MemoryHit) => path.startsWith(episodesFolder);
  const exchanges = hits.some(isEpisode) ? shown : [];
  const asked = exchanges.flatMap(({ messages }) => messages.map(({ text }) => essence(text)));
  // The same short answer is given to different questions.
  const answers = exchanges
    .flatMap(({ steps }) => steps.map(({ text }) => essence(text)))
    .filter(({ length }) => length >= recognisableCharacters);
  const known = [...asked.filter(({ length }) => length >= minRecognisableCharacters), ...answers];
  const isRepeat = (hit: MemoryHit) => {
    if (!isEpisode(hit)) return false;
    const text = essence(hit.text);
    if (known.some((part) => text.includes(part.slice(0, recognisableCharacters)))) return true;
    // A long answer is several passages, of which only the first has its beginning.
    const start = text.slice(0, recognisableCharacters);
    return start.length === recognisableCharacters && answers.some((answer) => answer.includes(start));
  };
  const { repeats = [], fresh = [] } = Object.groupBy(hits, (hit) => (isRepeat(hit) ? "repeats" : "fresh"));
  return { fresh, repeats };
}

/** Reduces a text to its letters and digits so that texts can be compared despite wrapping and escaping. */
function essence(text: string): string {
  return text
    .slice(0, 2_000)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "");
}

function textPiece(
  kind: ShownPiece["kind"],
  name: string,
  score: number,
  text: string,
  origins: readonly Origin[] = [],
): TextPiece {
  return {
    type: "text",
    section: kind === "skill" ? "skills" : "memory",
    kind,
    name,
    score,
    tokens: estimateTokens(text) + 1,
    isMandatory: false,
    text,
    origins,
  };
}

/** Puts the texts into the first message, a person's, because services refuse two consecutive messages of one role. */
export function startingWith(texts: readonly string[], messages: ModelMessage[]): ModelMessage[] {
  const [first, ...rest] = messages;
  if (texts.length === 0 || first?.role !== "user") return messages;
  const parts = texts.map((text) => ({ type: "text" as const, text }));
  return [{ ...first, content: [...parts, ...first.content] }, ...rest];
}
