/**
 * What a request to Claude has besides its prompt: effort, who asked, and thinking that people can read. Sonnet 5.5, Opus 5.5, Fable 5.1
 * and later hide what they say between tool calls in thinking blocks, which are empty by default, so people would see nothing
 * while they work:
 *
 *   between_tools       Sonnet 5.5 alone, with effort up to high: no thinking before the answer, and the notes with their text
 *   display: updates    the others: the notes alone. `summarized` would mix them with reasoning that is not meant for people
 *
 * Models that are not listed get neither, so that none refuses the request.
 */
import type Anthropic from "@anthropic-ai/sdk";
import type { OptionalParameter } from "./optional-parameters.ts";

export type Effort = "low" | "medium" | "high" | "xhigh" | "max";

const thinking: OptionalParameter = {
  name: "thinking",
  // Not a refusal of blocks, which names `thinking.block_binding` as a way out.
  refused: /thinking(?:[:-]|\.(?!block_binding))|between_tools|adaptive thinking|anthropic-beta|\bdisplay\b/i,
};
const effort: OptionalParameter = { name: "effort", refused: /\beffort\b|output_config/i };
/** Gateways to other services may not know it. */
const metadata: OptionalParameter = { name: "metadata", refused: /\bmetadata\b|\buser_id\b/i };

const updatesBeta = "thinking-display-updates-2026-08-18";
const updates: Anthropic.Beta.BetaThinkingConfigAdaptive = { type: "adaptive", display: "updates" };

export interface ClaudeParameters {
  body: Pick<Anthropic.MessageCreateParamsStreaming, "thinking" | "output_config" | "metadata">;
  betas: string[];
  /** Those that the service may refuse. */
  sent: OptionalParameter[];
  /** Its text is for people. */
  showsThinking: boolean;
}

export function claudeParameters(
  model: string,
  { effort: wanted, endUser }: { effort: Effort | undefined; endUser: string | undefined },
  leftOut: ReadonlySet<string> = new Set(),
): ClaudeParameters {
  const person = leftOut.has(metadata.name) ? undefined : endUser;
  const shown = leftOut.has(thinking.name) ? undefined : shownThinking(model, wanted);
  const level = leftOut.has(effort.name) || knowsEffort(model) === false ? undefined : wanted;
  return {
    body: {
      ...(shown === undefined ? {} : { thinking: shown }),
      ...(level === undefined ? {} : { output_config: { effort: level } }),
      ...(person === undefined ? {} : { metadata: { user_id: person } }),
    },
    betas: shown?.type === "adaptive" ? [updatesBeta] : [],
    sent: [
      ...(shown === undefined ? [] : [thinking]),
      ...(level === undefined ? [] : [effort]),
      ...(person === undefined ? [] : [metadata]),
    ],
    showsThinking: shown !== undefined,
  };
}

/** Undefined for names that are not Claude's own. */
export function knowsEffort(model: string): boolean | undefined {
  return isSince(model, { opus: 405, sonnet: 406, haiku: 505, fable: 500, mythos: 500 });
}

function shownThinking(model: string, wanted: Effort | undefined): Anthropic.ThinkingConfigParam | undefined {
  const isSonnet55 = isSince(model, { sonnet: 505 }) === true && isSince(model, { sonnet: 506 }) === false;
  if (isSonnet55 && wanted !== "xhigh" && wanted !== "max") return { type: "between_tools" };
  const hidesNotes = isSince(model, { sonnet: 505, opus: 505, fable: 501, mythos: 501 }) === true;
  return hidesNotes ? (updates as Anthropic.ThinkingConfigParam) : undefined;
}

/** Reads names such as `claude-sonnet-5-5-20260928`, `anthropic.claude-opus-5-5` and `claude-sonnet-4.6`; 5.5 is 505. */
function isSince(model: string, since: Readonly<Record<string, number>>): boolean | undefined {
  const found = /\bclaude-(opus|sonnet|haiku|fable|mythos)-(\d)(?:[-.](\d{1,2}))?(?!\d)/.exec(model);
  if (found === null) return undefined;
  const [, family = "", major, minor = "0"] = found;
  return Number(major) * 100 + Number(minor) >= (since[family] ?? Number.POSITIVE_INFINITY);
}
