/**
 * Shortens a running turn to fit the budget. First drops what others said before it, oldest first, then pictures of all
 * steps but the last, then replaces results and long arguments of these steps with stubs. Divides what is left among the
 * last step's results, text attachments and images. Never shortens what people wrote to the agent or what the model said.
 */
import type { Attachment } from "../ports/message.ts";
import { withoutImages } from "../ports/tool.ts";
import { cutToCharacters, cutToTokens } from "./cut.ts";
import { fitHeardTokens } from "./heard.ts";
import type { RuntimeClock } from "./sections.ts";
import { estimateTokens, imageTokens } from "./tokens.ts";
import {
  type CalledTool,
  messageTokens,
  renderTranscript,
  stepTokens,
  type TakenStep,
  type Transcript,
} from "./transcript.ts";

const stubCharacters = 200;
const stubInputCharacters = 300;
const minTokens = 60;
/** How many steps are shortened together. */
const atOnce = 4;

export interface Shortened {
  transcript: Transcript;
  notes: string[];
}

export function shortenTranscript(
  whole: Transcript,
  clock: RuntimeClock,
  limit: number,
  heardLimit = limit,
): Shortened {
  const sizeOf = (one: Transcript) => messageTokens(renderTranscript(one, clock));
  const { transcript, notes } = shortenHeard(whole, sizeOf, limit, heardLimit);
  let tokens = sizeOf(transcript);
  if (tokens <= limit) return { transcript, notes };
  const steps = [...transcript.steps];
  const shortenOlder = (
    isLong: (call: CalledTool) => boolean,
    shorten: (call: CalledTool) => CalledTool,
    what: string,
  ) => {
    // Some at once, or each further step would change the prompt's beginning again.
    for (let index = 0; index < steps.length - 1 && (tokens > limit || index % atOnce > 0); index += 1) {
      const step = steps[index];
      if (step === undefined || !step.calls.some(isLong)) continue;
      const short = { ...step, calls: step.calls.map(shorten) };
      steps[index] = short;
      notes.push(`step ${index + 1}: ${what}`);
      tokens += stepTokens(short) - stepTokens(step);
    }
  };
  shortenOlder(({ images }) => images !== undefined, withoutImages, "pictures are left out");
  shortenOlder(() => true, stubCall, "results are stubs");
  const stubbed = { ...transcript, steps };
  if (tokens <= limit) return { transcript: stubbed, notes };
  const least = withoutNotes(stubbed);
  if (least !== stubbed) notes.push("notes are left out");
  const excess = sizeOf(least) - limit;
  return excess <= 0 ? { transcript: least, notes } : capPieces(least, excess, notes);
}

/** Fits what others said into the part of `limit` that the turn itself leaves, at most `heardLimit`. */
function shortenHeard(
  transcript: Transcript,
  sizeOf: (transcript: Transcript) => number,
  limit: number,
  heardLimit: number,
): Shortened {
  const { heard, ...rest } = transcript;
  if (heard === undefined) return { transcript, notes: [] };
  const room = Math.min(heardLimit, limit - sizeOf(rest));
  const fitting = fitHeardTokens(heard, room);
  if (fitting === heard) return { transcript, notes: [] };
  const dropped = heard.messages.length - (fitting?.messages.length ?? 0);
  const notes = [`${dropped} of ${heard.messages.length} earlier messages of others left out or cut`];
  return { transcript: fitting === undefined ? rest : { ...rest, heard: fitting }, notes };
}

/** The texts of skills stay, because they say how the work is done. */
function withoutNotes(transcript: Transcript): Transcript {
  const { shown = [] } = transcript;
  if (!shown.some(({ pieces }) => pieces.some(({ kind }) => kind === "note"))) return transcript;
  const left = shown.map((one) => ({ ...one, pieces: one.pieces.filter(({ kind }) => kind !== "note") }));
  return { ...transcript, shown: left };
}

export function stubCall(call: CalledTool): CalledTool {
  const text =
    call.text.length <= stubCharacters * 1.5
      ? call.text
      : cutToCharacters(call.text, stubCharacters, "an old result; call the tool again if you need it");
  return withoutImages({ ...call, inputJson: stubInput(call.inputJson, stubInputCharacters), text });
}

/** Shortens long strings in the arguments. The result is always a valid JSON object. */
export function stubInput(inputJson: string, characters: number): string {
  const cutLong = (_key: string, value: unknown) =>
    typeof value === "string" && value.length > characters * 1.5 ? cutToCharacters(value, characters) : value;
  try {
    const input: unknown = JSON.parse(inputJson === "" ? "{}" : inputJson);
    if (typeof input !== "object" || input === null || Array.isArray(input)) throw new TypeError("no object");
    if (inputJson.length <= characters) return inputJson === "" ? "{}" : inputJson;
    const short = JSON.stringify(input, cutLong);
    return short.length <= characters * 10 ? short : JSON.stringify({ leftOut: cutToCharacters(short, characters) });
  } catch {
    return JSON.stringify({ malformed: cutToCharacters(inputJson, characters) });
  }
}

function capPieces(transcript: Transcript, excess: number, notes: string[]): Shortened {
  const last = transcript.steps.at(-1);
  const texts = [
    ...(last?.calls ?? []).map((call) => call.text),
    ...transcript.messages.flatMap(({ attachments }) =>
      attachments.flatMap(({ text, summary }) => text ?? summary ?? []),
    ),
  ];
  const sizes = texts.map(estimateTokens);
  const resultImages = (last?.calls ?? []).flatMap((call) => call.images ?? []).length;
  const sentImages = transcript.messages.flatMap(({ attachments }) => attachments.filter(isImage)).length;
  const imageCount = resultImages + sentImages;
  const wanted = sizes.reduce((sum, size) => sum + size, 0) + imageCount * imageTokens - excess;
  const images = Math.min(imageCount, Math.max(1, Math.floor(wanted / 2 / imageTokens)));
  const cap = Math.max(minTokens, heightFor(sizes, wanted - images * imageTokens));
  const cutCount = sizes.filter((size) => size > cap).length;
  if (cutCount > 0) notes.push(`${cutCount} results or attachments cut to ${cap} tokens each`);
  if (images < imageCount) notes.push(`${imageCount - images} of ${imageCount} images left out`);
  // Prefer the pictures of the last results, which are newer than those of the messages.
  const shown = { results: Math.min(resultImages, images), messages: Math.max(0, images - resultImages) };
  const steps = transcript.steps.map((step) => (step === last ? capStep(step, cap, shown.results) : step));
  return { transcript: { ...transcript, messages: capAttachments(transcript, cap, shown.messages), steps }, notes };
}

function heightFor(sizes: readonly number[], total: number): number {
  let left = total;
  let height = 0;
  const ascending = sizes.toSorted((one, other) => one - other);
  for (const [index, size] of ascending.entries()) {
    height = Math.floor(left / (ascending.length - index));
    if (size > height) return height;
    left -= size;
  }
  return Number.MAX_SAFE_INTEGER;
}

function capStep(step: TakenStep, cap: number, images: number): TakenStep {
  const hint = "ask the tool for a smaller part";
  let imagesLeft = images;
  const capCall = (call: CalledTool): CalledTool => {
    const capped = { ...call, text: cutToTokens(call.text, cap, hint) };
    imagesLeft -= call.images?.length ?? 0;
    return imagesLeft < 0 ? withoutImages(capped) : capped;
  };
  return { ...step, calls: step.calls.toReversed().map(capCall).toReversed() };
}

function capAttachments(transcript: Transcript, cap: number, images: number): Transcript["messages"] {
  let imagesLeft = images;
  const capOne = (attachment: Attachment): Attachment => {
    const { text, imageBase64, summary, ...rest } = attachment;
    if (text !== undefined) return { ...rest, text: cutToTokens(text, cap) };
    const short = summary === undefined ? rest : { ...rest, summary: cutToTokens(summary, cap) };
    if (imageBase64 === undefined || imagesLeft === 0) return short;
    imagesLeft -= 1;
    return { ...short, imageBase64 };
  };
  return transcript.messages.map((message) => ({ ...message, attachments: message.attachments.map(capOne) }));
}

function isImage(attachment: Attachment): boolean {
  return attachment.imageBase64 !== undefined;
}
