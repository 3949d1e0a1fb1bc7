/**
 * Reads one model answer. Passes on its cleaned text while it arrives, each time all text so far. Uses no tool call
 * before the answer has ended properly; each call then gets an id unique in its turn and is checked against its tool's
 * schema.
 *
 * An unusable call becomes a problem, which the model reads instead of a result (read-call.ts).
 * Brain name: wernicke.
 */
import { RemoraError } from "../lib/errors.ts";
import type { ModelEvent, ModelToolCall } from "../ports/provider.ts";
import type { ToolSpec } from "../ports/tool.ts";
import type { BrokenText, ParsedCall, ReadAnswer } from "../ports/turn.ts";
import type { ReadModel } from "../ports/turn-deps.ts";
import { uniqueCallId } from "./call-ids.ts";
import { createTextCleaner } from "./clean-text.ts";
import { cutCall, readCall } from "./read-call.ts";

export const readModel: ReadModel = async (events, tools, usedCallIds, { onText, onNotice }) => {
  const began = performance.now();
  const elapsed = () => Math.round(performance.now() - began);
  let cleaner = createTextCleaner();
  const raws: ModelToolCall[] = [];
  const broken: BrokenText[] = [];
  let hasRetracted = false;
  let firstTokenMs: number | undefined;
  for await (const event of events) {
    switch (event.type) {
      case "notice":
        onNotice?.(event.text);
        break;
      case "text-delta":
        firstTokenMs ??= elapsed();
        if (cleaner.add(event.text)) onText(cleaner.text());
        break;
      case "tool-call":
        firstTokenMs ??= elapsed();
        raws.push({ id: event.id, name: event.name, inputJson: event.inputJson });
        break;
      case "retract":
        hasRetracted = true;
        cleaner = createTextCleaner();
        break;
      case "restart":
        // People keep the old text until the new one replaces it.
        broken.push({
          ...{ model: event.model, text: cleaner.text() },
          ...(event.usage === undefined ? {} : { usage: event.usage }),
        });
        cleaner = createTextCleaner();
        raws.length = 0;
        break;
      case "end": {
        if (broken.length > 0 || hasRetracted) onText(cleaner.text());
        const calls = await parseAll(raws, tools, usedCallIds, event.stop === "max-tokens");
        return answered(event, { text: cleaner.text(), broken, calls, firstTokenMs: firstTokenMs ?? elapsed() });
      }
      case "error":
        return failed(cleaner.text(), broken, event);
      default:
        event satisfies never;
    }
  }
  return { type: "failed", text: cleaner.text(), broken, error: endless() };
};

function answered(
  { type: _end, ...end }: Extract<ModelEvent, { type: "end" }>,
  read: { text: string; broken: BrokenText[]; calls: ParsedCall[]; firstTokenMs: number },
): ReadAnswer {
  return { type: "answer", ...read, ...end };
}

/** The text that people see is part of what the service has counted, if it has. */
function failed(
  text: string,
  broken: BrokenText[],
  { error, used = [] }: Extract<ModelEvent, { type: "error" }>,
): ReadAnswer {
  const counted = used.map((one) => ({ ...one, text: "" }));
  return {
    type: "failed",
    text,
    broken: [...broken, ...counted],
    error,
    ...(counted.length === 0 ? {} : { isCounted: true }),
  };
}

function endless(): RemoraError {
  return new RemoraError({
    code: "provider.cut",
    place: "response",
    message: "the answer stopped before its end; try again",
    isRetryable: true,
  });
}

/** `isCut` means that the answer reached the output limit, perhaps in the middle of a call's arguments. */
async function parseAll(
  raws: ModelToolCall[],
  tools: ToolSpec[],
  usedCallIds: ReadonlySet<string>,
  isCut: boolean,
): Promise<ParsedCall[]> {
  const taken = new Set(usedCallIds);
  const parsed: ParsedCall[] = [];
  for (const [index, wanted] of raws.entries()) {
    const id = uniqueCallId(wanted.id, taken);
    taken.add(id);
    const isLastOfCut = isCut && index === raws.length - 1;
    parsed.push(isLastOfCut ? cutCall({ ...wanted, id }, tools) : await readCall({ ...wanted, id }, tools));
  }
  return parsed;
}
