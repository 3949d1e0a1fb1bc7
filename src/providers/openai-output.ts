/**
 * What an answer of the Responses API consists of. Each text and call should come in pieces, then whole, then in the last event
 * once more. Services leave out any of these, so each whole adds what people have not seen yet.
 */
import type OpenAI from "openai";
import { isJsonObject, parseJson } from "../lib/json.ts";
import type { ModelToolCall } from "../ports/provider.ts";
import { argumentsIn, nameIn } from "./answer-fields.ts";
import { failure } from "./classify-failure.ts";
import type { ProviderPlace } from "./failure-kinds.ts";

type Item = OpenAI.Responses.ResponseOutputItem;
type CallItem = OpenAI.Responses.ResponseFunctionToolCall;

interface OutputCall extends ModelToolCall {
  itemId: string | undefined;
  index: number | undefined;
  isWhole: boolean;
  /** Says of itself that it is not whole, however its arguments look. */
  isCut?: boolean;
}

interface PieceOfCall {
  item_id?: string | undefined;
  output_index?: number | undefined;
}

export interface Output {
  addText(piece: string): void;
  /** Each returns the text that is new. */
  endText(whole: string): string;
  endMessage(item: Item): string;
  endAnswer(items: readonly Item[]): string;
  startCall(item: CallItem, index: number | undefined): void;
  addArguments(piece: PieceOfCall & { delta: string }): void;
  endArguments(piece: PieceOfCall & { arguments: string; name?: string }): void;
  endCall(item: CallItem, index: number | undefined): void;
  /** Why the model declined, in its own words. */
  refusal(): string;
  addRefusal(piece: unknown): void;
  endRefusal(whole: unknown): void;
  /** A part of the answer says of itself that it is not whole. */
  isIncomplete(): boolean;
  /** Throws if a call is not whole, unless the output limit has cut the answer: then it is known that the last one must not run. */
  calls(place: ProviderPlace, isCut: boolean): ModelToolCall[];
}

export function createOutput(): Output {
  let shown = "";
  let textStart = 0;
  let messageStart = 0;
  let refusal = "";
  let isIncomplete = false;
  const calls: OutputCall[] = [];

  /** What `whole` has more than the text since `start`. Nothing if they differ, or if it only repeats the end. */
  function missing(start: number, whole: string): string {
    const known = shown.slice(start);
    if (!whole.startsWith(known) || (known === "" && shown.endsWith(whole))) return "";
    const more = whole.slice(known.length);
    shown += more;
    return more;
  }

  function openCall({ item_id: id, output_index: index }: PieceOfCall): OutputCall | undefined {
    const open = calls.filter(({ isWhole }) => !isWhole);
    return (
      open.find((call) => id !== undefined && call.itemId === id) ??
      open.find((call) => index !== undefined && call.index === index)
    );
  }

  function callOf(piece: PieceOfCall): OutputCall | undefined {
    return openCall(piece) ?? calls.findLast(({ isWhole }) => !isWhole);
  }

  function endCall(item: CallItem, index: number | undefined): void {
    const [id, name] = [nameIn(item.call_id), nameIn(item.name)];
    const same = calls.filter((call) => id !== "" && call.id === id);
    const known =
      same.find((call) => !call.isWhole) ??
      same.find((call) => index !== undefined && call.index === index) ??
      openCall({ item_id: item.id, output_index: index });
    const isCut = item.status === "incomplete";
    isIncomplete ||= isCut;
    // Some gateways leave out here what they have said before.
    const inputJson = argumentsIn(item.arguments) || (known?.inputJson ?? "");
    const whole = { id: id || (known?.id ?? ""), name: name || (known?.name ?? ""), inputJson, isWhole: !isCut, isCut };
    if (known === undefined) calls.push({ ...whole, itemId: item.id, index });
    else Object.assign(known, whole);
  }

  function endRefusal(whole: unknown): void {
    if (refusal.trim() === "" && typeof whole === "string") refusal = whole;
  }

  function endItems(items: readonly Item[], start: number): string {
    const { text, refused } = partsOf(items);
    endRefusal(refused);
    isIncomplete ||= items.some((item) => "status" in item && item.status === "incomplete");
    return missing(start, text);
  }

  return {
    addText(piece) {
      shown += piece;
    },
    endText(whole) {
      const more = missing(textStart, whole);
      textStart = shown.length;
      return more;
    },
    endMessage(item) {
      const more = endItems([item], messageStart);
      messageStart = shown.length;
      textStart = shown.length;
      return more;
    },
    endAnswer(items) {
      const listed = items.filter((item) => item.type === "function_call");
      const whole = calls.filter(({ isWhole }) => isWhole);
      if (listed.length > whole.length) {
        for (const item of listed) if (!whole.some(({ id }) => id === item.call_id)) endCall(item, undefined);
      }
      return endItems(items, 0);
    },
    startCall(item, index) {
      calls.push({
        ...{ id: nameIn(item.call_id), name: nameIn(item.name), inputJson: argumentsIn(item.arguments) },
        ...{ itemId: item.id, index, isWhole: false },
      });
    },
    addArguments(piece) {
      const call = callOf(piece);
      if (call !== undefined) call.inputJson += argumentsIn(piece.delta);
    },
    endArguments(piece) {
      const call = callOf(piece);
      if (call === undefined) return;
      Object.assign(call, {
        ...{ name: call.name || nameIn(piece.name), isWhole: true },
        inputJson: argumentsIn(piece.arguments) || call.inputJson,
      });
    },
    endCall,
    refusal: () => refusal.trim(),
    addRefusal(piece) {
      if (typeof piece === "string") refusal += piece;
    },
    endRefusal,
    isIncomplete: () => isIncomplete,
    calls(place, isCut) {
      const isUsable = (call: OutputCall, index: number) =>
        (isCut && index === calls.length - 1) ||
        call.isWhole ||
        (!call.isCut && isJsonObject(parseJson(call.inputJson)));
      if (!calls.every(isUsable)) throw failure(place, "cut");
      return calls.map(({ id, name, inputJson }) => ({ id, name, inputJson }));
    },
  };
}

function partsOf(items: readonly Item[]): { text: string; refused: string } {
  const parts: unknown[] = items.flatMap((item) => (item.type === "message" ? [item.content ?? []].flat() : []));
  const joined = (type: string, field: string) =>
    parts
      .map((part) => (isJsonObject(part) && part.type === type ? part[field] : ""))
      .filter((text) => typeof text === "string")
      .join("");
  return { text: joined("output_text", "text"), refused: joined("refusal", "refusal") };
}
