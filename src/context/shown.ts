/**
 * What a prompt has beside people's words: notes from memory, preferences, the texts of skills. They stand before the words
 * that brought them up, and later prompts repeat them there, because each change of what was sent before makes the service
 * read everything behind it again. A text that the prompt already has is not sent twice. One that no longer holds, because it
 * was forgotten or edited, leaves the prompt.
 */
import type { SkillBrief } from "../ports/context.ts";
import type { MemoryHit } from "../ports/memory.ts";
import type { ShownContext, ShownPiece } from "../ports/shown-context.ts";
import { addedTo, type NoteSource, noteSource } from "../ports/shown-context.ts";
import type { ToolSpec } from "../ports/tool.ts";
import { loadSkillName } from "../ports/tool-offer.ts";
import { escapeFences } from "./fence.ts";
import type { Exchange } from "./history.ts";
import { renderTools } from "./named-tools.ts";
import { renderPreferences, renderSkillBody, skillBodyIn } from "./sections.ts";
import { estimateTokens } from "./tokens.ts";

export interface CurrentTexts {
  briefs: readonly SkillBrief[];
  named: readonly ToolSpec[];
  digest: string;
  /** Whether memory still has a note. */
  has(source: NoteSource): boolean;
}

export function sourceKey({ path, heading, hash }: NoteSource): string {
  return `${path}\0${heading}\0${hash}`;
}

/** Takes out what no longer holds. Returns the same objects where nothing changes. */
export function withCurrent(exchanges: readonly Exchange[], current: CurrentTexts, share: number): Exchange[] {
  return exchanges.map((exchange) => {
    if (exchange.shown === undefined) return exchange;
    const shown = exchange.shown.map((one) => ({
      ...one,
      pieces: one.pieces.filter((piece) => isCurrent(piece, current, share)),
    }));
    const isSame = shown.every(({ pieces }, index) => pieces.length === exchange.shown?.[index]?.pieces.length);
    return isSame ? exchange : { ...exchange, shown };
  });
}

function isCurrent({ kind, text, name, source }: ShownPiece, current: CurrentTexts, share: number): boolean {
  if (kind === "note") return source !== undefined && current.has(source);
  if (kind === "preferences") return current.digest.trim() !== "" && text === renderPreferences(current.digest);
  const brief = current.briefs.find((one) => one.name === name);
  const hasBody = text.includes("<skill_body ");
  if (hasBody && (brief === undefined || !text.includes(renderSkillBody(brief, bodyTokens(share))))) return false;
  const [, described = ""] = /<skill_tools>\n([\s\S]*)/.exec(text) ?? [];
  const names = [...described.matchAll(/^### (\S+)$/gm)].map(([, tool]) => tool);
  const tools = current.named.filter((tool) => names.includes(tool.name));
  return tools.length === names.length && text.endsWith(renderTools(tools));
}

/** Of one skill's body, so that one skill leaves room for another. */
export function bodyTokens(share: number): number {
  return Math.floor(share / 2);
}

/** Of the running turn only notes that are gone, because the rest of its prompt must stay. */
export function withoutGone(shown: readonly ShownContext[], current: Pick<CurrentTexts, "has">): ShownContext[] {
  const isGone = ({ source }: ShownPiece) => source !== undefined && !current.has(source);
  return shown.map((one) => ({ ...one, pieces: one.pieces.filter((piece) => !isGone(piece)) }));
}

export interface NewHit extends MemoryHit {
  source: NoteSource;
}

/** Of a passage that has grown since the prompt had it, only what was added. */
export function newHits(hits: readonly MemoryHit[], before: ShownBefore): NewHit[] {
  return hits.flatMap((hit) => {
    const source = noteSource(hit);
    const known = before.sources.filter((one) => one.path === hit.path && one.heading === hit.heading);
    const added = known.flatMap((one) => addedTo(one, hit.text) ?? []).sort((one, other) => one.length - other.length);
    const [text = hit.text] = added;
    return text.trim() === "" && added.length > 0 ? [] : [{ ...hit, text, source }];
  });
}

export interface ShownBefore {
  sources: readonly NoteSource[];
  /** Estimated. */
  noteTokens: number;
  has(piece: Pick<ShownPiece, "kind" | "text">): boolean;
  /** People were told that `recall` has more. */
  isHinted: boolean;
}

/** What the shown exchanges and the earlier messages of the running turn have. */
export function shownBefore(exchanges: readonly Exchange[], running: readonly ShownContext[]): ShownBefore {
  const all = [...exchanges.flatMap(({ shown = [] }) => shown), ...running];
  const keyOf = ({ kind, text }: Pick<ShownPiece, "kind" | "text">) => `${kind}\0${text}`;
  const keys = new Set(all.flatMap(({ pieces }) => pieces.map(keyOf)));
  const sources = all.flatMap(({ pieces }) => pieces.flatMap(({ source }) => source ?? []));
  const notes = all.flatMap(({ pieces }) => pieces.filter(({ kind }) => kind === "note"));
  const noteTokens = notes.reduce((sum, { text }) => sum + estimateTokens(text), 0);
  const calls = exchanges.flatMap(({ steps }) => steps.flatMap((step) => step.calls));
  const loaded = calls.flatMap(({ name, text }) => (name === loadSkillName ? escapeFences(text) : []));
  const isLoaded = ({ kind, text }: Pick<ShownPiece, "kind" | "text">) => {
    const body = kind === "skill" ? skillBodyIn(text) : undefined;
    return body !== undefined && loaded.some((one) => one.includes(body));
  };
  return {
    sources,
    noteTokens,
    has: (piece) => keys.has(keyOf(piece)) || isLoaded(piece),
    isHinted: all.some(({ withheld }) => withheld > 0),
  };
}
