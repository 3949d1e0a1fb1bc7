/** Finds where the text of a turn comes from: its messages and the results of its calls. */
import type { EarlierLine } from "./earlier.ts";
import type { Attachment, Author, InboundMessage, JsonObject } from "./message.ts";
import {
  areFewPlainNames,
  type Origin,
  originOf,
  originOfPerson,
  untrustedFor,
  withoutRememberedPeople,
} from "./origin.ts";

import type { ToolSpec, ToolStatus } from "./tool.ts";

import { type CallRecord, requesterOf, type StepRecord, type TurnRecord } from "./turn.ts";

const neverRan: readonly ToolStatus[] = ["invalid", "denied", "blocked"];

export function originsOfTool(spec: ToolSpec | undefined, name: string, input: JsonObject): Origin[] {
  if (spec !== undefined && !spec.readsUntrusted) return [];
  if (spec?.offeredBy !== undefined) return [originOf("mcp", spec.offeredBy)];
  if (typeof input.url === "string") return [originOf("web", withoutScheme(input.url))];
  return [originOf("tool", name)];
}

/** Of names, descriptions and schemas: a program writes those of the tools that it offers. */
export function originsOfDescriptions(tools: readonly ToolSpec[]): Origin[] {
  const programs = new Set(tools.flatMap(({ offeredBy }) => offeredBy ?? []));
  return [...programs].map((program) => originOf("mcp", program));
}

export function originsOfTurn({ heard, messages, steps }: TurnRecord, specs: readonly ToolSpec[]): Origin[] {
  const byName = new Map(specs.map((spec) => [spec.name, spec]));
  const calls = steps.flatMap((step) => step.calls);
  return [
    ...(heard?.lines ?? []).flatMap(originsOfLine),
    ...messages.flatMap(originsOfMessage),
    ...calls.flatMap((record) => originsOfCall(record, byName)),
  ];
}

function originsOfLine({ author, quoted, isQuoting }: EarlierLine): Origin[] {
  return [
    originOfSpeaker(author),
    ...(quoted === undefined ? [] : [originOfSpeaker(quoted)]),
    ...(isQuoting === true ? [originOf("attachment", "forwarded message")] : []),
  ];
}

/** Nobody knows what a bot repeats, and what the agent itself had read when it wrote an earlier message. */
function originOfSpeaker(author: Author): Origin {
  return author.isBot ? originOf("bot", author.name) : originOfPerson(author);
}

function originsOfMessage({ author, attachments }: InboundMessage): Origin[] {
  // The prompt holds the name of every attachment. Of a voice note, the service has chosen it.
  const isRead = ({ name, text, summary, imageBase64, voice }: Attachment) =>
    (text ?? summary ?? imageBase64) !== undefined || (voice === undefined && !areFewPlainNames([name]));
  const read = attachments.filter(isRead);
  // Somebody other than the author may have written an attachment and its name.
  return [originOfPerson(author), ...read.map(({ name }) => originOf("attachment", name))];
}

/** A result without origins is old or interrupted, so the call may have read anything that its tool can read. */
function originsOfCall({ raw, call, result }: CallRecord, specs: ReadonlyMap<string, ToolSpec>): Origin[] {
  if (result === undefined) return [];
  // The reason for a denial is in the denier's own words, and why arguments don't fit in those of whoever describes the tool.
  if (neverRan.includes(result.status)) return result.origins ?? [];
  return result.origins ?? originsOfTool(specs.get(raw.name), raw.name, call?.input ?? {});
}

export function untrustedIn(turn: TurnRecord, step: StepRecord, specs: readonly ToolSpec[]): Origin[] {
  if (step.untrusted !== undefined) return step.untrusted;
  // Records of earlier versions lack this field, so assume everything that the turn had read before the step.
  const before = { ...turn, steps: turn.steps.slice(0, turn.steps.indexOf(step)) };
  return untrustedFor(originsOfTurn(before, specs), requesterOf(turn).id);
}

/** True if any prompt of the turn contained text that rules out grants. */
export function isTainted(turn: TurnRecord, specs: readonly ToolSpec[]): boolean {
  return turn.steps.some((step) => withoutRememberedPeople(untrustedIn(turn, step, specs)).length > 0);
}

function withoutScheme(url: string): string {
  return url.replace(/^[a-z]+:\/\//i, "").replace(/[?#].*$/s, "");
}
