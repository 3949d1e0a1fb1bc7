/**
 * Shortens a running turn to fit the budget. First replaces results and long arguments with stubs, oldest first, in all
 * steps but the last. Then divides the remaining budget among the last step's results, text attachments and images.
 * Never shortens what people wrote or what the model said.
 */
import type { Attachment } from "../ports/message.ts";
import { cutToCharacters, cutToTokens } from "./cut.ts";
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

export interface Shortened {
  transcript: Transcript;
  notes: string[];
}

export function shortenTranscript(transcript: Transcript, limit: number): Shortened {
  let tokens = messageTokens(renderTranscript(transcript));
  if (tokens <= limit) return { transcript, notes: [] };
  const notes: string[] = [];
  const steps = [...transcript.steps];
  for (let index = 0; index < steps.length - 1 && tokens > limit; index += 1) {
    const step = steps[index];
    if (step === undefined || step.calls.length === 0) continue;
    const stubbed = { ...step, calls: step.calls.map(stubCall) };
    steps[index] = stubbed;
    notes.push(`step ${index + 1}: results are stubs`);
    tokens += stepTokens(stubbed) - stepTokens(step);
  }
  const stubbed = { ...transcript, steps };
  return tokens <= limit ? { transcript: stubbed, notes } : capPieces(stubbed, tokens - limit, notes);
}

export function stubCall(call: CalledTool): CalledTool {
  const text =
    call.text.length <= stubCharacters * 1.5
      ? call.text
      : cutToCharacters(call.text, stubCharacters, "an old result; call the tool again if you need it");
  return { ...call, inputJson: stubInput(call.inputJson, stubInputCharacters), text };
}

/** Shortens long strings in the arguments. The result is always a valid JSON object. */
export function stubInput(inputJson: string, characters: number): string {
  const cutLong = (_key: string, value: unknown) =>
    typeof value === "string" && value.length > characters * 1.5 ? cutToCharacters(value, characters) : value;
  try {
    const input: unknown = JSON.parse(inputJson === "" ? "{}" : inputJson);
    if (typeof input !== "object" || input === null || Array.isArray(input)) throw new TypeError("no object");
    if (inputJson.length <= characters) return JSON.stringify(input);
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
    ...transcript.messages.flatMap(({ attachments }) => attachments.flatMap(({ text }) => text ?? [])),
  ];
  const sizes = texts.map(estimateTokens);
  const imageCount = transcript.messages.flatMap(({ attachments }) => attachments.filter(isImage)).length;
  const wanted = sizes.reduce((sum, size) => sum + size, 0) + imageCount * imageTokens - excess;
  const images = Math.min(imageCount, Math.max(1, Math.floor(wanted / 2 / imageTokens)));
  const cap = Math.max(minTokens, heightFor(sizes, wanted - images * imageTokens));
  const cutCount = sizes.filter((size) => size > cap).length;
  if (cutCount > 0) notes.push(`${cutCount} results or attachments cut to ${cap} tokens each`);
  if (images < imageCount) notes.push(`${imageCount - images} of ${imageCount} images left out`);
  const steps = transcript.steps.map((step) => (step === last ? capStep(step, cap) : step));
  return { transcript: { messages: capAttachments(transcript, cap, images), steps }, notes };
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

function capStep(step: TakenStep, cap: number): TakenStep {
  const hint = "ask the tool for a smaller part";
  return { ...step, calls: step.calls.map((call) => ({ ...call, text: cutToTokens(call.text, cap, hint) })) };
}

function capAttachments(transcript: Transcript, cap: number, images: number): Transcript["messages"] {
  let imagesLeft = images;
  const capOne = (attachment: Attachment): Attachment => {
    const { text, imageBase64, ...rest } = attachment;
    if (text !== undefined) return { ...rest, text: cutToTokens(text, cap) };
    if (imageBase64 === undefined || imagesLeft === 0) return rest;
    imagesLeft -= 1;
    return attachment;
  };
  return transcript.messages.map((message) => ({ ...message, attachments: message.attachments.map(capOne) }));
}

function isImage(attachment: Attachment): boolean {
  return attachment.imageBase64 !== undefined;
}
