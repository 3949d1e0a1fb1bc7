/**
 * Gathers the calls of a streamed Chat Completions answer, and what services give beside text and calls and want back, unchanged,
 * with the results: reasoning under its various names, and Google's signatures. It goes to the same model within the turn only.
 *
 * Calls come in pieces by index. Some servers give several calls under one index, or none: then a piece belongs to the last call
 * unless it begins another one. Some give no ids, or one id to several calls.
 */
import { randomUUID } from "node:crypto";
import { isJsonObject, parseJson } from "../lib/json.ts";
import type { Json, JsonObject } from "../ports/message.ts";
import type { ModelMessage, ModelToolCall } from "../ports/provider.ts";
import { argumentsIn, nameIn } from "./answer-fields.ts";

interface GatheredCall extends ModelToolCall {
  /** Whatever the service gives, which may be the same for all calls. */
  index: Json | undefined;
  /** Its name has come again after its arguments: if more of them follow, they are another call's. */
  mayBeOver: boolean;
  /** What the service gave with the call, without the fields of the protocol. */
  extra: JsonObject;
}

export interface Extras {
  add(delta: JsonObject): void;
  end(): { calls: ModelToolCall[]; carry: { carry?: Json } };
}

const carryKind = "openai-chat";
/** A longer one is replaced within the turn, and the service may need it: LiteLLM appends Gemini's signature to it. */
const maxPlainIdLength = 56;
/** DeepSeek, Kimi and llama.cpp; newer vLLM, Groq and gateways. */
const textNames = ["reasoning_content", "reasoning"] as const;

/** `isTool`: the request names such a tool, so a piece with its whole name begins a call. */
export function createExtras(isTool: (name: string) => boolean = () => false): Extras {
  const calls: GatheredCall[] = [];
  const details = createDetails();
  const message: JsonObject = {};

  return {
    add(fields) {
      for (const name of textNames) {
        const text = fields[name];
        if (typeof text === "string" && text !== "") message[name] = `${message[name] ?? ""}${text}`;
      }
      if (isJsonObject(fields.extra_content))
        message.extra_content = merged(message.extra_content, fields.extra_content);
      if (Array.isArray(fields.reasoning_details)) for (const piece of fields.reasoning_details) details.add(piece);
      for (const piece of [fields.tool_calls].flat().filter(isJsonObject)) gather(calls, piece, isTool);
      // Servers with the API's older form call one function per answer.
      if (isJsonObject(fields.function_call)) gather(calls, { index: 0, function: fields.function_call }, isTool);
    },
    end() {
      for (const call of calls) if (call.id.length > maxPlainIdLength) call.extra.id = call.id;
      const list = details.all();
      const kept = list.length === 0 ? message : withDetails(message, list);
      const hasExtra = Object.keys(kept).length > 0 || calls.some(({ extra }) => Object.keys(extra).length > 0);
      return {
        calls: calls.map(({ id, name, inputJson }, index) => {
          const isTaken = id === "" || calls.slice(0, index).some((other) => other.id === id);
          return { id: isTaken ? `call_${randomUUID()}` : id, name, inputJson };
        }),
        carry: hasExtra ? { carry: { kind: carryKind, message: kept, calls: calls.map(({ extra }) => extra) } } : {},
      };
    },
  };
}

/** OpenRouter gives the same reasoning as text too, and takes one of both. */
function withDetails(
  { reasoning: _text, reasoning_content: _same, ...rest }: JsonObject,
  details: JsonObject[],
): JsonObject {
  return { ...rest, reasoning_details: details };
}

/** Answers have a few. Part of them would be refused, so with more none goes back. */
const maxDetails = 1_000;

/** OpenRouter refuses a detail that is still in pieces. Those of one detail have its type and index, and no other id. */
function createDetails() {
  const details: JsonObject[] = [];
  const open = new Map<string, JsonObject[]>();
  let isTooMany = false;

  function known({ type, index, id = null }: JsonObject): JsonObject | undefined {
    if (index === undefined) return undefined;
    const isOther = (given: Json | undefined) => id !== null && (given ?? null) !== null && given !== id;
    return open.get(JSON.stringify([type, index]))?.find((one) => !isOther(one.id));
  }

  return {
    all: () => (isTooMany ? [] : details),
    add(piece: unknown): void {
      if (!isJsonObject(piece) || isTooMany) return;
      const one = known(piece);
      if (one !== undefined) return void extend(one, piece);
      isTooMany = details.length >= maxDetails;
      const fresh = { ...piece };
      details.push(fresh);
      const key = JSON.stringify([piece.type, piece.index]);
      open.set(key, [...(open.get(key) ?? []), fresh]);
    },
  };
}

function extend(detail: JsonObject, piece: JsonObject): void {
  for (const [name, value] of Object.entries(piece)) {
    if (value === null) continue;
    const isPart =
      (name === "text" || name === "summary") && typeof value === "string" && typeof detail[name] === "string";
    detail[name] = isPart ? `${detail[name]}${value}` : value;
  }
}

/** Fields of the protocol that would make another call of this one. */
const ofOtherMeaning: ReadonlySet<string> = new Set(["custom", "name", "arguments", "input", "role", "content"]);

function gather(calls: GatheredCall[], piece: JsonObject, isTool: (name: string) => boolean): void {
  const { index, id: givenId, type: _type, function: given, ...others } = piece;
  const { name: givenName, arguments: written, ...ofFunction } = isJsonObject(given) ? given : {};
  const text = argumentsIn(written);
  const before = latestOf(calls, index);
  const again = text !== "" && before?.mayBeOver === true ? before.name : "";
  const [id, name] = [nameIn(givenId), nameIn(givenName) || again];
  const last = ownerOf(calls, { index, id, name, text }, isTool);
  if (last === undefined && id === "" && name === "" && text === "") return;
  const call = last ?? { index, id: "", name: "", inputJson: "", extra: {}, mayBeOver: false };
  if (last === undefined) calls.push(call);
  const extra = Object.fromEntries(Object.entries(others).filter(([field]) => !ofOtherMeaning.has(field)));
  if (id !== "") call.id = id;
  call.mayBeOver = name !== "" && name === call.name && text === "" && isWhole(call);
  if (name !== call.name) call.name += name;
  call.inputJson += text;
  call.extra = merged(
    call.extra,
    plain(Object.keys(ofFunction).length === 0 ? extra : { ...extra, function: ofFunction }),
  );
}

function isWhole({ inputJson }: GatheredCall): boolean {
  return isJsonObject(parseJson(inputJson));
}

function latestOf(calls: readonly GatheredCall[], index: Json | undefined): GatheredCall | undefined {
  return index === undefined ? calls.at(-1) : calls.findLast((call) => call.index === index);
}

interface Piece {
  index: Json | undefined;
  id: string;
  name: string;
  text: string;
}

/** Undefined for a piece that begins a call. */
function ownerOf(
  calls: GatheredCall[],
  { index, id, name, text }: Piece,
  isTool: (name: string) => boolean,
): GatheredCall | undefined {
  const last = latestOf(calls, index);
  if (last === undefined) return undefined;
  if (id !== "" && last.id !== "" && id !== last.id)
    return index === undefined ? calls.find((call) => call.id === id) : undefined;
  const isSame = id !== "" && id === last.id;
  if (name !== "" && name !== last.name && !isSame && (isWhole(last) || (isTool(last.name) && isTool(name))))
    return undefined;
  return name !== "" && text !== "" && isWhole(last) ? undefined : last;
}

/** A later piece adds to what is there, and wins where both have a value. */
function merged(known: Json | undefined, more: JsonObject): JsonObject {
  const result: JsonObject = isJsonObject(known) ? { ...known } : {};
  for (const [name, value] of Object.entries(more)) {
    if (value === null || value === undefined) continue;
    result[name] = isJsonObject(value) ? merged(result[name], value) : value;
  }
  return result;
}

function plain(value: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(value));
}

/** Google's own word for a call that another model made, or whose signature is lost. Without any, it refuses the turn. */
const unsigned: JsonObject = { extra_content: { google: { thought_signature: "skip_thought_signature_validator" } } };

/** Own ids of calls that have another one within the turn. */
export function ownIdsIn(messages: readonly ModelMessage[], model: string): Map<string, string> {
  const ids = messages.flatMap((message) => {
    if (message.role !== "assistant") return [];
    const { calls } = extrasOf(message, model, false);
    return message.toolCalls.map(({ id }, index): [string, string] => {
      const own = calls[index]?.id;
      return [id, typeof own === "string" ? own : id];
    });
  });
  return new Map(ids);
}

/** What goes back with an earlier answer. `isSigned`: the service wants a signature at the first call of each step. */
export function extrasOf(
  message: Extract<ModelMessage, { role: "assistant" }>,
  model: string,
  isSigned: boolean,
): { message: JsonObject; calls: JsonObject[] } {
  const data = message.carry?.model === `openai/${model}` ? message.carry.data : undefined;
  const isOwn = isJsonObject(data) && data.kind === carryKind;
  const ofMessage = isOwn && isJsonObject(data.message) ? data.message : {};
  const given = isOwn && Array.isArray(data.calls) ? data.calls.map((call) => (isJsonObject(call) ? call : {})) : [];
  const calls = given.length === message.toolCalls.length ? given : [];
  const [first = {}, ...others] = calls;
  return isSigned && first.extra_content === undefined
    ? { message: ofMessage, calls: [{ ...first, ...unsigned }, ...others] }
    : { message: ofMessage, calls };
}
