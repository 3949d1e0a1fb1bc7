/**
 * Asks a model for one word, as a turn would: by the same provider, with system text and a tool. Only an answer proves that
 * the key, the model's name and the account work, and that the service takes tools with this model. A call of the tool, and
 * thoughts up to the output limit, are answers too. Nothing runs the tool.
 */
import type { RemoraError } from "../lib/errors.ts";
import { sentence } from "../lib/text/sentence.ts";
import { withoutPlace } from "../lib/text/without-place.ts";
import type { CheckProblem, CheckResult } from "../ports/check.ts";
import type { ModelRequest, Provider, Usage } from "../ports/provider.ts";

const maxCheckMs = 15_000;
/** OpenAI refuses less. */
const maxOutputTokens = 16;
/** Counted if the model does not say what it used. */
const atMost: Usage = { inputTokens: 150, outputTokens: maxOutputTokens, cacheReadTokens: 0, cacheWriteTokens: 0 };

const request: ModelRequest = {
  system: [{ text: "This checks the connection. You need no tool.", isCacheable: true }],
  messages: [{ role: "user", content: [{ type: "text", text: "Reply with the word ok." }] }],
  tools: [
    {
      ...{ name: "current_time", description: "Tells the time.", skill: "check", folder: "none", timeoutMs: 1_000 },
      parameters: { type: "object", properties: {}, additionalProperties: false },
      ...{ isReadOnly: true, isIdempotent: true, readsUntrusted: false, isOutward: false, shellParameters: [] },
    },
  ],
  maxOutputTokens,
  isBackground: true,
  isWithoutFallback: true,
};

interface Answered {
  model: string;
  milliseconds: number;
  usage: Usage;
}

/** `provider` is one of src/providers, with the key and the model to check. Never rejects. */
export async function checkModelCall(
  provider: Provider,
  { signal = AbortSignal.timeout(maxCheckMs) }: { signal?: AbortSignal | undefined } = {},
): Promise<CheckResult<Answered>> {
  const result = await callModel(provider, signal);
  return result.ok ? result : problemFor(result.error, provider);
}

/** Never rejects. */
export async function callModel(
  provider: Provider,
  signal: AbortSignal,
): Promise<({ ok: true } & Answered) | { ok: false; error: RemoraError }> {
  const from = performance.now();
  const answered = (usage: Usage = atMost) => ({
    ok: true as const,
    usage,
    model: provider.model,
    milliseconds: Math.round(performance.now() - from),
  });
  for await (const event of provider.stream(request, signal)) {
    if (event.type === "error") return isAnswer(event.error) ? answered() : { ok: false, error: event.error };
    if (event.type === "end") return answered(event.usage);
  }
  return answered();
}

/**
 * A refusal is an answer. So is the output limit, which a model may spend on thinking: it ends a stream, and some services say it
 * as an error. An answer without anything that ended by itself is none, as in turns.
 */
function isAnswer(error: RemoraError): boolean {
  return error.code === "provider.refused" || /max_tokens or model output limit was reached/i.test(error.message);
}

function problemFor(error: RemoraError, { model, address }: Provider): CheckProblem {
  const said = withoutPlace(error.message);
  const problem = (text: string, fix: string): CheckProblem => ({ ok: false, code: error.code, problem: text, fix });
  // An address can have a password.
  const host = URL.parse(address ?? "")?.host;
  const where = host === undefined ? "" : ` at ${host}`;
  switch (error.code) {
    case "provider.wrong-key":
      return problem(
        `The service${where} does not accept this key for ${model} (401).`,
        "Copy the key again, or create a new one.",
      );
    case "provider.no-credit":
      return problem(
        `The account of this key has no credit, so ${model} does not answer${detailText(error)}.`,
        "Add credit, or use a key of another account.",
      );
    case "provider.spend-limit":
      return problem(
        `The account of this key has reached its spending limit, so ${model} does not answer${detailText(error)}.`,
        "Raise the limit in the account, wait until it resets, or use a key of another account.",
      );
    case "provider.aborted":
      return problem(`${model}${where} did not answer in time.`, "Check the network and the service, and try again.");
    default: {
      const [what, todo] = withAdvice(said);
      return problem(`${model} does not answer: ${what}.`, todo);
    }
  }
}

/** The advice of a failure stands behind its last semicolon (src/providers/failure-kinds.ts). */
function withAdvice(said: string): [what: string, todo: string] {
  const at = said.lastIndexOf("; ");
  return at === -1 ? [said, ""] : [said.slice(0, at), sentence(said.slice(at + 2))];
}

/** What the service said. It may name the limit, and the page where it can be raised. */
function detailText({ detail }: RemoraError): string {
  return detail === undefined ? "" : ` (${detail})`;
}
