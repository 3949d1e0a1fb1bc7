/**
 * Where an answer ends that the model does not end: it repeats itself, is longer than asked for (some servers ignore the limit),
 * or goes on for half an hour. What people have read by then stays.
 */
import { createRepetitionWatch } from "../lib/text/repetition.ts";
import { repetitionCharacters, type StopReason } from "../ports/provider.ts";
import { failure } from "./classify-failure.ts";
import type { ProviderPlace } from "./failure-kinds.ts";

/** Files that a model writes may have the same line a thousand times. */
const hiddenRepetitionCharacters = 4 * repetitionCharacters;
/** Most have three or four. Only a server that ignores the limit comes so far. */
const charactersPerToken = 12;
/** At nine tokens a second, an answer of 16,000 takes as long. */
const maxAnswerMs = 30 * 60_000;

export interface AnswerBounds {
  /** The reason if the answer ends here. Throws if it ends without anything for people. */
  stopAfter(piece: { text?: string; hidden?: string }): StopReason | undefined;
}

export function createAnswerBounds(place: ProviderPlace, maxOutputTokens: number, now = Date.now): AnswerBounds {
  const text = createRepetitionWatch(repetitionCharacters);
  const hidden = createRepetitionWatch(hiddenRepetitionCharacters);
  const maxCharacters = maxOutputTokens * charactersPerToken;
  let began: number | undefined;
  let characters = 0;
  return {
    stopAfter(piece) {
      began ??= now();
      if (now() - began > maxAnswerMs) throw failure(place, "endless", { note: "after 30 min" });
      if (hidden.add(piece.hidden ?? "")) throw failure(place, "repeating");
      if (text.add(piece.text ?? "")) return "repeating";
      characters += piece.text?.length ?? 0;
      return characters > maxCharacters ? "max-tokens" : undefined;
    },
  };
}
