/** Renders the stable prefix. Only changed files, skills or tools change it, so providers can cache it across turns. */
import type { SkillBrief } from "../ports/context.ts";
import type { SystemPart } from "../ports/provider.ts";
import type { ToolSpec } from "../ports/tool.ts";
import type { ToolOffer } from "../ports/tool-offer.ts";
import type { BrainFile, BrainFiles } from "./brain-files.ts";
import { type BudgetSection, type Shares, shareOf } from "./budget.ts";
import { type FixedPiece, fixedPiece } from "./candidates.ts";
import { renderToolNotes } from "./named-tools.ts";
import { fitFiles, renderFiles, renderIndex } from "./sections.ts";
import { estimateTokens } from "./tokens.ts";

export interface Prefix {
  system: SystemPart[];
  pieces: FixedPiece[];
  notes: string[];
}

export type RenderPrefix = (briefs: readonly SkillBrief[], offer: ToolOffer) => Prefix;

const maxPrefixes = 4;

/** Reuses a prefix while its inputs are unchanged, because rendering it is most of the work for a small prompt. */
export function createPrefix(files: BrainFiles, total: number, shares: Shares): RenderPrefix {
  const known: { madeOf: unknown[]; prefix: Prefix }[] = [];
  return (briefs, offer) => {
    const [identity, procedures] = [files.identity(), files.procedures()];
    const madeOf = ingredients(identity, procedures, briefs, offer);
    const at = known.findIndex((one) => isSame(one.madeOf, madeOf));
    const [found] = at === -1 ? [] : known.splice(at, 1);
    const kept = found ?? { madeOf, prefix: renderPrefix({ identity, procedures, briefs, offer }, total, shares) };
    known.unshift(kept);
    known.length = Math.min(known.length, maxPrefixes);
    return kept.prefix;
  };
}

interface Ingredients {
  identity: readonly BrainFile[];
  procedures: readonly BrainFile[];
  briefs: readonly SkillBrief[];
  offer: ToolOffer;
}

/** Returns all inputs of the prefix, for comparison with `===`. Schemas are never changed in place. */
function ingredients(
  identity: readonly BrainFile[],
  procedures: readonly BrainFile[],
  briefs: readonly SkillBrief[],
  { defined, named }: ToolOffer,
): unknown[] {
  return [
    identity.length,
    procedures.length,
    briefs.length,
    defined.length,
    ...[...identity, ...procedures].flatMap((file) => [file.path, file.text]),
    ...briefs.flatMap((brief) => [brief.name, brief.description]),
    ...[...defined, ...named].flatMap((tool) => [tool.name, tool.description, tool.skill, tool.parameters]),
  ];
}

function isSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((value, index) => value === other[index]);
}

function renderPrefix({ briefs, offer, ...files }: Ingredients, total: number, shares: Shares): Prefix {
  const share = (section: BudgetSection) => shareOf(total, shares, section);
  const identity = fitFiles(files.identity, share("identity"));
  const procedures = fitFiles(files.procedures, share("prefrontal"));
  // The index gets at most half of the share, because triggered skills need the other half.
  const index = renderIndex(briefs, Math.floor(share("skills") / 2));
  const toolNotes = renderToolNotes(offer);
  const schemas = offer.defined.reduce((sum, tool) => sum + schemaTokens(tool), 0);
  return {
    system: [
      systemPart(renderFiles("identity", identity.kept), renderFiles("procedures", procedures.kept)),
      systemPart(index, toolNotes),
    ].filter((part) => part.text !== ""),
    pieces: [
      ...filePieces("identity", identity.kept),
      ...filePieces("prefrontal", procedures.kept),
      fixedPiece("skills", "index", estimateTokens(index)),
      fixedPiece("always", "tool notes", estimateTokens(toolNotes)),
      fixedPiece("always", "tool schemas", schemas),
    ],
    notes: [...identity.leftOut, ...procedures.leftOut].map((file) => `${file.path} left out: over its share`),
  };
}

function systemPart(...sections: string[]): SystemPart {
  return { text: sections.filter((section) => section !== "").join("\n\n"), isCacheable: true };
}

function filePieces(section: "identity" | "prefrontal", files: readonly BrainFile[]): FixedPiece[] {
  return files.map((file) => fixedPiece(section, file.path, estimateTokens(file.text) + 2));
}

function schemaTokens(tool: ToolSpec): number {
  return estimateTokens(tool.name) + estimateTokens(tool.description) + estimateTokens(JSON.stringify(tool.parameters));
}
