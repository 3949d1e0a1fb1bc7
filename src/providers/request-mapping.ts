/** Helpers that map a request to the format of a service. */
import { isJsonObject, parseJson } from "../lib/json.ts";
import type { JsonObject } from "../ports/message.ts";
import type { ModelMessage, ModelRequest, UserPart } from "../ports/provider.ts";

export function mayCall({ tools, mayCall: allowed }: ModelRequest): boolean {
  return tools.length > 0 && allowed !== false;
}

export function modelOf(request: ModelRequest, name: string, own: string): string {
  const prefix = `${name}/`;
  const preferred = request.preferredModel;
  return preferred?.startsWith(prefix) ? preferred.slice(prefix.length) : own;
}

/** Parses the arguments of an earlier call. Malformed text is sent back to the model unchanged. */
export function inputOf(inputJson: string): JsonObject {
  if (inputJson.trim() === "") return {};
  const value = parseJson(inputJson);
  return isJsonObject(value) ? value : { malformed_arguments: wellFormed(inputJson) };
}

/** Makes a past tool name valid, because the model may have invented one that the service refuses. */
export function wireName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "unnamed";
}

/** Replaces unpaired surrogates, because services refuse a request that contains one. */
export function wellFormed(text: string): string {
  return text.toWellFormed();
}

export function systemTextOf(request: ModelRequest): string {
  const texts = request.system.map((part) => part.text).filter((text) => text.trim() !== "");
  return wellFormed(texts.join("\n\n"));
}

/** As chat templates and gateways say that they take no two messages of one role in a row. */
export const rolesInRow = new RegExp(
  [
    "\\b(?:must|should|shall|needs? to|ha(?:s|ve) to|expected to|not|n't) (?:\\w+ly )?(?:be )?alternat(?:e|ing)\\b",
    "\\balternat(?:e|es|ing|ion|ely)\\b (?:between |of |with |in )?['\"`]?(?:user|human|assistant|roles?)\\b",
    "\\b(?:consecutive|successive|adjacent|back-to-back)\\b[^.]{0,40}\\b(?:user|assistant|roles?|messages?)\\b",
    "\\b(?:user|roles?|messages?)\\b[^.]{0,40}\\b(?:consecutively|in a row)\\b|\\bsame role\\b",
    "\\bunexpected role ['\"`]?(\\w+)['\"`]? after role ['\"`]?\\1\\b|\\beven index\\b[^.]{0,40}\\buser\\b|交替",
  ].join("|"),
  "i",
);

/** The model's words between a result and a person's next message, for servers that don't take a person's message behind a result. */
export const bridgeText = "I have the results.";

/**
 * Messages without two of one role in a row, and without a person who speaks right after a result. `joined` is undefined for two
 * that can't be one.
 */
export function alternating<Message extends { role: string }>(
  messages: readonly Message[],
  bridge: Message,
  joined: (one: Message, next: Message) => Message | undefined,
): Message[] {
  const result: Message[] = [];
  for (const message of messages) {
    const last = result.at(-1);
    if (last?.role === "tool" && message.role === "user") result.push(bridge);
    const whole = last?.role === message.role ? joined(last, message) : undefined;
    if (whole === undefined) result.push(message);
    else result[result.length - 1] = whole;
  }
  return result;
}

export function alternatingMessages(messages: ModelMessage[]): ModelMessage[] {
  return alternating(messages, { role: "assistant", text: bridgeText, toolCalls: [] }, (one, next) => {
    if (one.role === "user" && next.role === "user")
      return { role: "user", content: joinedParts([...one.content, ...next.content]) };
    if (one.role !== "assistant" || next.role !== "assistant" || one.toolCalls.length > 0) return undefined;
    return { ...next, text: joinedText(one.text, next.text) };
  });
}

export function joinedText(...texts: string[]): string {
  return texts.filter((text) => text !== "").join("\n\n");
}

/** Texts that follow each other are one, because some templates put nothing between two parts. */
export function joinedParts<Part extends { type: string }>(parts: readonly (Part | TextPart)[]): (Part | TextPart)[] {
  const result: (Part | TextPart)[] = [];
  for (const part of parts) {
    const last = result.at(-1);
    if (isText(last) && isText(part)) result[result.length - 1] = { ...last, text: joinedText(last.text, part.text) };
    else result.push(part);
  }
  return result;
}

type TextPart = Extract<UserPart, { type: "text" }>;

function isText(part: { type: string } | undefined): part is TextPart {
  return part?.type === "text" && "text" in part;
}
