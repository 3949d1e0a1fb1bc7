/**
 * Creates the unified diff of a draft in git's format: texts first, and of each kind deletions first. It is made of the
 * very bytes that the hash of the effects covers. A changed or added text is there whole, or `missing` says why not.
 */
import { formatBytes } from "../../lib/text/format-bytes.ts";
import { formatNumber } from "../../lib/text/format-number.ts";
import type { Effect, Effects } from "./effect.ts";
import type { EntryState } from "./entry-state.ts";
import type { FileContent } from "./file-content.ts";
import { isInertFile, unknownType } from "./file-type.ts";
import type { DraftFolders, LayerChange } from "./layer-changes.ts";
import type { TooLarge } from "./limits.ts";
import { createLineBudget, diffLines, type LineBudget, splitLines } from "./line-diff.ts";
import { defaultEffectLimits, listEffects, type VisitEffect } from "./list-effects.ts";
import { decodeBytes, type RawPath } from "./raw-path.ts";
import { bytesAsText, createPartFinder, utf16Of } from "./text-bytes.ts";
import { formatHunks } from "./unified-hunks.ts";

export interface DraftDiff {
  type: "diff";
  effects: Effects;
  /** Lines are as in the files (text-bytes.ts). Whoever shows them must escape hidden characters. */
  text: string;
  /** Why a change is not in the text, or not all of it. */
  missing?: string;
}

/** Every service takes a file of this size. */
const maxDiffCharacters = 8 * 1024 * 1024;
/** Of a larger binary file that is inert, such as a picture, only what can be read in it is shown. */
const maxBinaryBytes = 256 * 1024;
/** Most bytes of a binary file are shown as escapes. */
const escapedCharacters = 5;
/** So many bytes of other data fit. */
const maxOtherBytes = maxDiffCharacters / escapedCharacters;

interface Section {
  effect: Effect;
  head: string;
  /** Undefined if the files are too large. */
  whole?: string;
  /**
   * Stands in for `whole` where that is too long. Texts that are added or changed have none, and neither has data that a
   * shell or an interpreter may run: whatever is executable, can run by itself, or is not surely what its name says.
   */
  brief?: string;
}

export async function createDiff(
  folders: DraftFolders,
  signal: AbortSignal,
  warningsOf: (effects: Effects) => (effect: Effect) => string | undefined = () => () => undefined,
  maxCharacters = maxDiffCharacters,
): Promise<DraftDiff | TooLarge> {
  const sections = new Map<RawPath, Section>();
  const budget = createLineBudget();
  let [needed, optional] = [0, 0];
  const effects = await listEffects(folders, signal, defaultEffectLimits, (effect, change, contents) => {
    const head = diffHead(effect, change);
    const section = { effect, head, ...(needed > maxCharacters ? {} : bodyOf(effect, change, contents, budget)) };
    needed += costOf(effect, section.brief ?? section.whole ?? "") + head.length;
    if (section.brief !== undefined) optional += section.whole?.length ?? 0;
    sections.set(effect.raw, section);
    if (optional > 2 * maxCharacters) optional = dropLongest(sections, maxCharacters);
  });
  if (effects.type === "too-large") return effects;
  const warningOf = warningsOf(effects);
  const noted = (effect: Effect) => folderNote(effect) + noteLine(warningOf(effect));
  const inOrder = effects.effects.flatMap((effect) => {
    const section = sections.get(effect.raw);
    if (section === undefined) return [];
    if (isBinaryContent(effect) && section.brief !== "" && warningOf(effect) !== undefined) delete section.brief;
    return [{ ...section, effect, head: section.head + noted(effect) }];
  });
  const ordered = [...inOrder.filter(isText), ...inOrder.filter((section) => !isText(section))];
  return { type: "diff", effects, ...joined(ordered, maxCharacters) };
}

/** Has bytes that would be kept. */
const isBinaryContent = ({ isBinary, type, action }: Effect) => isBinary && type === "file" && action !== "deleted";
const isText = ({ effect }: Section) => !effect.isBinary;

/** For memory: keeps the bodies that may find room, which are the shortest ones. Returns their length. */
function dropLongest(sections: ReadonlyMap<RawPath, Section>, room: number): number {
  let kept = 0;
  for (const section of shortestFirst([...sections.values()])) {
    if (kept + section.whole.length > room) delete (section as Section).whole;
    else kept += section.whole.length;
  }
  return kept;
}

type OptionalSection = Section & Required<Pick<Section, "whole" | "brief">>;

/** Those that have a brief body as well. A few large files leave room for many small ones. */
function shortestFirst(sections: readonly Section[]): OptionalSection[] {
  const isOptional = (section: Section): section is OptionalSection =>
    section.brief !== undefined && section.whole !== undefined;
  return sections.filter(isOptional).toSorted((one, other) => one.whole.length - other.whole.length);
}

function costOf({ isBinary, action }: Effect, body: string): number {
  return body.length * (isBinary && action !== "deleted" ? escapedCharacters : 1);
}

function joined(sections: readonly Section[], maxCharacters: number): Pick<DraftDiff, "text" | "missing"> {
  const costs = sections.map((section) => {
    const short = shortest(section);
    return section.brief === undefined ? costOf(section.effect, short) : short.length;
  });
  let room = maxCharacters - costs.reduce((sum, cost) => sum + cost, 0);
  const missing = room < 0 ? `It has more than ${formatNumber(maxCharacters)} characters.` : tooLargeFile(sections);
  const long = new Set<RawPath>();
  for (const section of shortestFirst(sections)) {
    const cost = costOf(section.effect, section.whole) + section.head.length - shortest(section).length;
    if (cost > room) continue;
    room -= Math.max(0, cost);
    long.add(section.effect.raw);
  }
  const text = sections
    .map((section) => (long.has(section.effect.raw) ? section.head + section.whole : shortest(section)))
    .join("");
  if (missing === undefined) return { text };
  return { text: text.slice(0, text.lastIndexOf("\n", maxCharacters) + 1), missing };
}

function tooLargeFile(sections: readonly Section[]): string | undefined {
  const found = sections.find(({ whole, brief }) => whole === undefined && brief === undefined);
  if (found === undefined) return undefined;
  const { path, bytes, previousBytes, isBinary, fileType = unknownType } = found.effect;
  const size = formatBytes(Math.max(bytes, previousBytes));
  const reason = fileType === unknownType ? "" : ", as a file must be that a shell may run";
  return isBinary ? `${path} is ${fileType}, ${size}, and too large to show whole${reason}.` : `${path} has ${size}.`;
}

function folderNote({ type, action, files }: Effect): string {
  return type === "folder" && action === "deleted" && files > 0
    ? noteLine(`with ${formatNumber(files)} files in it`)
    : "";
}

function noteLine(note: string | undefined): string {
  return note === undefined ? "" : `note: ${note}\n`;
}

/** What must be shown at least. A folder that was deleted stands for everything in it. */
function shortest({ effect, head, whole, brief }: Section): string {
  if (effect.action === "deleted" && effect.within !== undefined) return "";
  return head + (brief ?? whole ?? `File ${sizes(effect)}: too large to show\n`);
}

type Contents = Parameters<VisitEffect>[2];
type Body = Pick<Section, "whole" | "brief">;

function bodyOf(effect: Effect, { from, to }: LayerChange, contents: Contents, budget: LineBudget): Body {
  const isSame = from.type === to.type && contents.from?.hash === contents.to?.hash;
  if (from.type === "file" && to.type === "file" && isSame && contents.to !== undefined)
    return { whole: "", brief: "" };
  if (effect.isBinary) return binaryBody(effect, { from, to }, contents, budget);
  const whole = linesDiff(effect, { from, to }, contents, budget);
  const isGone = from.type === "file" && (to.type === "absent" || to.type === "folder");
  const brief = isGone ? { brief: `File ${sizes(effect)}: its lines are not shown\n` } : {};
  return { ...(whole === undefined ? {} : { whole }), ...brief };
}

function binaryBody(
  effect: Effect,
  { from, to }: Pick<LayerChange, "from" | "to">,
  contents: Contents,
  budget: LineBudget,
): Body {
  const { fileType = unknownType, bytes, previousBytes } = effect;
  const description = `Binary file ${sizes(effect)}: ${fileType}${executable(to)}\n`;
  if (to.type !== "file") return { whole: description, brief: description };
  const isInert =
    contents.to !== undefined && executable(from) + executable(to) === "" && isInertFile(effect.raw, contents.to.start);
  const parts = isInert ? partsOf(contents.to) : undefined;
  const brief = parts === undefined ? {} : { brief: `${description}What can be read in it:\n${parts}` };
  if (bytes > (parts === undefined ? maxOtherBytes : maxBinaryBytes)) return brief;
  const lines = linesDiff(
    effect,
    { from, to },
    previousBytes > maxBinaryBytes ? withoutBefore(contents) : contents,
    budget,
  );
  return { ...(lines === undefined ? {} : { whole: description + lines }), ...brief };
}

function withoutBefore({ from, to }: Contents): Contents {
  return { from: from && { ...from, whole: undefined }, to };
}

function executable(state: EntryState): string {
  return state.type === "file" && (state.mode & 0o111) !== 0 ? ", executable" : "";
}

function partsOf(content: FileContent | undefined): string | undefined {
  const finder = createPartFinder();
  if (content?.whole !== undefined) finder.add(content.whole);
  const parts = content?.whole === undefined ? content?.parts : finder.all();
  return parts?.map((part) => `+${part.trim().replaceAll("\n", "\n+")}\n`).join("");
}

/** Undefined if the file is too large. What a text replaces may be too large, because all of the text is shown. */
function linesDiff(
  effect: Effect,
  { from, to }: Pick<LayerChange, "from" | "to">,
  contents: Contents,
  budget: LineBudget,
): string | undefined {
  if (to.type === "file" && contents.to?.whole === undefined) return undefined;
  const isBeforeHidden = from.type === "file" && contents.from?.whole === undefined;
  if (isBeforeHidden && to.type !== "file") return undefined;
  const notes = isBeforeHidden
    ? [`note: what this replaces has ${formatBytes(effect.previousBytes)} and is not shown`]
    : [];
  const wide = wideTexts(contents);
  if (wide !== undefined) notes.push(`note: text in ${wide.encoding}`);
  const asBytes = hunksOf(budget, entryText(from, contents.from), entryText(to, contents.to));
  const alsoAsBytes =
    wide?.hidesLetters === true ? `note: the same as bytes, which is what a shell reads\n${asBytes}` : "";
  const hunks = wide === undefined ? asBytes : hunksOf(budget, ...wide.texts) + alsoAsBytes;
  const name = (prefix: string, { type }: EntryState) =>
    type === "absent" || type === "folder" ? "/dev/null" : gitName(prefix, effect);
  const names = hunks === "" ? "" : `--- ${name("a", from)}\n+++ ${name("b", to)}\n`;
  return `${notes.map((note) => `${note}\n`).join("")}${names}${hunks}`;
}

function hunksOf(budget: LineBudget, before: string, after: string): string {
  return formatHunks(diffLines(splitLines(before), splitLines(after), budget));
}

interface WideTexts {
  encoding: string;
  texts: [string, string];
  hidesLetters: boolean;
}

/** The texts if all that there is has the same encoding. Otherwise the bytes tell what changed. */
function wideTexts({ from, to }: Contents): WideTexts | undefined {
  const [before, after] = [from, to].map((content) => content?.whole && utf16Of(content.whole));
  const encoding = after?.encoding ?? before?.encoding;
  const areAll = [[from, before] as const, [to, after] as const].every(
    ([content, text]) => content === undefined || content.bytes === 0 || text?.encoding === encoding,
  );
  if (encoding === undefined || !areAll) return undefined;
  return {
    encoding: encoding === "utf16le" ? "UTF-16 LE" : "UTF-16 BE",
    texts: [before?.text ?? "", after?.text ?? ""],
    hidesLetters: before?.hidesLetters === true || after?.hidesLetters === true,
  };
}

/** Git shows a link as a line of text without a line break. */
function entryText(state: EntryState, content: FileContent | undefined): string {
  if (state.type === "link") return bytesAsText(decodeBytes(state.target));
  return content?.whole === undefined ? "" : bytesAsText(content.whole);
}

function diffHead(effect: Effect, { from, to }: LayerChange): string {
  const lines = [`diff --git ${gitName("a", effect)} ${gitName("b", effect)}`];
  if (from.type === "absent") lines.push(`new ${kindAndMode(to)}`);
  else if (to.type === "absent") lines.push(`deleted ${kindAndMode(from)}`);
  else if (kindAndMode(from) !== kindAndMode(to)) lines.push(`old ${changedMode(from)}`, `new ${changedMode(to)}`);
  for (const note of effect.notes) if (note.includes("not kept")) lines.push(`note: ${note}`);
  return `${lines.join("\n")}\n`;
}

function kindAndMode(state: EntryState): string {
  switch (state.type) {
    case "file":
      return `file mode ${octal(0o100000 | state.mode)}`;
    case "folder":
      return `folder mode ${octal(0o040000 | state.mode)}`;
    case "link":
      return "file mode 120000";
    case "special":
      return "socket, pipe or device";
    case "absent":
      return "nothing";
    default:
      return state satisfies never;
  }
}

/** Omits the type, because git shows it only for added and deleted files. */
function changedMode(state: EntryState): string {
  return kindAndMode(state).replace(/^(file|folder) /, "");
}

function octal(mode: number): string {
  return mode.toString(8).padStart(6, "0");
}

function gitName(prefix: string, { path }: Effect): string {
  const name = `${prefix}/${path}`;
  return /["\\]/.test(name) ? `"${name.replaceAll('"', '\\"')}"` : name;
}

function sizes({ action, previousBytes, bytes }: Effect): string {
  if (action === "deleted") return `deleted, ${formatBytes(previousBytes)}`;
  if (action === "added") return `added, ${formatBytes(bytes)}`;
  return `changed, ${formatBytes(previousBytes)} → ${formatBytes(bytes)}`;
}
