/** Approval cards, rendered only from records. Texts are plain and on one line unless noted; platforms escape them. */
import { formatNumber } from "../lib/text/format-number.ts";
import type { AnswerChoice, ReplyTarget } from "./message.ts";

/** `open → approved → consumed`, or `open → denied | expired | cancelled`, or `approved → expired | cancelled`. */
export type ApprovalState = "open" | "approved" | "consumed" | "denied" | "expired" | "cancelled";

export interface CardItem {
  /** An answer to this id counts for all identical calls on the card. */
  approvalId: string;
  tool: string;
  /**
   * What will happen, in plain words: one line of at most 300 characters. Pairs of backticks mark code, and no argument
   * contains one. It never replaces `callText`.
   */
  headline: string;
  /** Ids of channels in `headline`, for services that show them by name. */
  channels?: string[];
  /** The complete call as multi-line text. Invisible characters are escaped, so nothing is hidden. */
  callText: string;
  /** The headline shows every argument unchanged, so platforms need not show `callText` too. */
  isHeadlineWhole?: boolean;
  /** Why people are asked, in plain sentences without rules. Begins with `riskLead` if a skill warns of a risk. */
  reason?: string;
  /** The rules that ask: skill, file, line and pattern, one line each. Show it only if somebody asks why. */
  why: string[];
  /** Set if odd characters, mixed alphabets or long runs of whitespace could mislead the reader. */
  warning?: string;
  times: number;
  state: ApprovalState;
  choices: AnswerChoice[];
  /** Button labels, if Approve and Deny would not say what they do. */
  labels?: { approve: string; deny: string };
  /** The current arguments as JSON text without invisible characters. */
  editJson?: string;
  /** The rule that the choice `allow` would save, in words. */
  grantText?: string;
  editedFrom?: string;
  /** For example `Ann approved. 1 more approval is needed.` */
  progress?: string;
  /** What became of it, in one line with `headline` shortened, such as ``Ben approved `npm install` ``. */
  outcome?: string;
  settledAt?: number;
  /** What was allowed in advance with this item, after `Until 14:32, `. The choice `end` ends it. */
  grant?: { text: string; until: number };
  facts?: string[];
  /** Whether it can be undone, in one sentence. */
  undo?: string;
  /** Shown instead of `callText`. */
  changes?: ShownChanges;
  /** Nobody was asked about the changes, because somebody had allowed them in advance. */
  isGranted?: true;
}

/** All texts are escaped. An item with no choices but `undo` and `diff` only reports what was kept. */
export interface ShownChanges {
  /** For example `website: 1 file deleted, 2 changed, 3 added`. */
  title: string;
  /** For example `Delete 1, change 2 and add 3 files in website`. Absent in old records. */
  headline?: string;
  summary: string;
  /** What carries a warning first, then deletions, changes, and additions; at most `maxShownFiles`. */
  files: ShownChange[];
  moreFiles: number;
  /** How many of `moreFiles` carry a warning. */
  moreWarned?: number;
  commands: { text: string; outcome: string }[];
  /** Earlier ones that `commands` leaves out. The choice `diff` shows all of them, whole. */
  moreCommands?: number;
  lastOutput?: string;
  /** Present if the diff is short enough for a card. The choice `diff` shows longer ones. */
  diff?: string;
  /** Button labels. For a stopped or failed turn they are Keep and Discard. */
  labels: { approve: string; deny: string };
}

export interface ShownChange {
  path: string;
  action: "deleted" | "changed" | "added";
  /** For example `+12 −3`, `14 kB`, `link to x`, `now executable`. */
  detail: string;
  /** Never shortened, and at most 60 characters: if there is little room, the path gives up its middle. */
  warning?: string;
}

/** Changes that were kept before anybody saw them: by the settings, or because somebody had allowed them in advance. */
export function areUnseenChanges({ changes, state, settledAt, isGranted }: CardItem): boolean {
  if (changes === undefined) return false;
  return isGranted === true || (state === "consumed" && settledAt === undefined);
}

/** The label of the choice `allow`, from its `grantText`: `Allow here for 30 min…`. */
export function allowLabel(grantText = ""): string {
  const [, minutes] = /^For (\d+) minutes?\b/.exec(grantText) ?? [];
  return minutes === undefined ? "Allow here for a while…" : `Allow here for ${minutes} min…`;
}

/** For files that are only counted: `and 7 more files, 3 of which can run by themselves outside the sandbox`. */
export function moreFilesText(count: number, warned: number): string {
  const files = `and ${formatNumber(count)} more ${count === 1 ? "file" : "files"}`;
  if (warned === 0) return files;
  if (count === 1) return `${files}, which can run by itself outside the sandbox`;
  return `${files}, ${formatNumber(warned)} of which can run by themselves outside the sandbox`;
}

export const maxShownFiles = 25;
/** Every service shows this many commands of this length. */
export const maxShownCommands = 8;
export const maxCommandCharacters = 120;
export const maxOutcomeCharacters = 60;
export const maxSummaryCharacters = 500;

export const riskLead = "Risk:";

/** The reason in two parts: the lead to stress, or nothing, and the rest. */
export function reasonParts({ reason = "" }: Pick<CardItem, "reason">): { lead: string; rest: string } {
  const isRisk = reason.startsWith(riskLead);
  return { lead: isRisk ? riskLead : "", rest: isRisk ? reason.slice(riskLead.length) : reason };
}

/** Calls and changes that still need an answer, in words: `3 actions need approval`. */
export function openCountText(open: number): string {
  return open === 1 ? "1 action needs approval" : `${open} actions need approval`;
}

/** Stands before an item's outcome. What can run again was approved, but could not be kept. */
export function outcomeMark({ state, choices }: Pick<CardItem, "state" | "choices">): string {
  return choices.includes("again") ? "⚠️" : outcomeMarks[state];
}

const outcomeMarks: Readonly<Record<ApprovalState, string>> = {
  open: "",
  approved: "✅",
  consumed: "✅",
  denied: "❌",
  expired: "⌛",
  cancelled: "⏹️",
};

/** Choices that a card offers behind More… (with Deny with reason, if it offers `deny`). */
export const moreChoices: readonly AnswerChoice[] = ["edit", "allow", "handover", "why"];

export interface HeadlinePart {
  text: string;
  kind: "words" | "code" | "channel";
}

/** Parts a headline or outcome into words, code, and ids of channels. Without backticks in pairs, all of it is words. */
export function headlineParts(text: string, channels: readonly string[] = []): HeadlinePart[] {
  const parts = text.split("`");
  if (parts.length % 2 === 0) return [{ text, kind: "words" }];
  return parts.flatMap((part, index): HeadlinePart[] => {
    if (part === "") return [];
    return index % 2 === 1 ? [{ text: part, kind: "code" }] : wordsAndChannels(part, channels);
  });
}

function wordsAndChannels(text: string, channels: readonly string[]): HeadlinePart[] {
  const [channel] = channels;
  const at = channel === undefined ? -1 : text.indexOf(channel);
  if (channel === undefined || at === -1) return [{ text, kind: "words" }];
  const around = [text.slice(0, at), text.slice(at + channel.length)].map((words): HeadlinePart[] =>
    words === "" ? [] : [{ text: words, kind: "words" }],
  );
  return [...(around[0] ?? []), { text: channel, kind: "channel" }, ...(around[1] ?? [])];
}

/** Plain text, or a person or role that platforms show as their own mention. Texts and names are not escaped for markup. */
export type NotePart = string | { userId: string; name: string } | { roleId: string; name: string };

/**
 * Who is told about a card. Posting the card pings exactly these people and roles. Nothing else on a card may ping
 * anybody, and no edit pings again.
 */
export interface CardNotify {
  /** The people and roles in `line`. Both are empty on a copy. */
  userIds: string[];
  roleIds: string[];
  /** For example `Waiting for `, Ben, ` or `, Cara, `.` */
  line: NotePart[];
  /** The line as text, for places that mention nobody: `Waiting for Ben or @ops.` */
  text: string;
}

/** One line below a card. */
export interface CardNote {
  /** Unique within the turn. A note is posted once. */
  key: string;
  line: NotePart[];
}

export function noteText(line: readonly NotePart[]): string {
  return line
    .map((part) => (typeof part === "string" ? part : "roleId" in part ? `@${part.name}` : part.name))
    .join("");
}

/** Set on a copy that one person got by direct message. */
export interface CardCopy {
  /** Who asks, and where: `Ann needs an answer from you or Ben in #ops.` Once it is settled, `Ann’s request in #ops.` */
  text: string;
  /** A link to the card in its conversation. */
  link?: string;
}

export interface ApprovalCard {
  id: string;
  target: ReplyTarget;
  requesterName: string;
  /** Who can answer, such as `Ben or Cara can answer`. Follows `Asked by Ann · `. */
  approversText: string;
  expiresAt: number | null;
  /** When its last call expires, if that is not at `expiresAt`. */
  lastExpiresAt?: number | null;
  items: CardItem[];
  /** Absent on a settled card, and if nobody else is asked. */
  notify?: CardNotify;
  copy?: CardCopy;
}
