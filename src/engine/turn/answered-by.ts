/** The line below an answer that another model than the requested one gave. */
import { createLruMap } from "../../lib/lru-map.ts";
import type { StepRecord } from "../../ports/turn.ts";
import type { ModelNotes } from "../../ports/turn-deps.ts";

/** While nothing changes, a conversation reads the same line once in this time. */
const repeatAfterMs = 3_600_000;
const maxConversations = 2_000;

export function createModelNotes(now: () => number = Date.now): ModelNotes {
  const told = createLruMap<{ turnId: string; note: string; at: number }>(maxConversations);
  return {
    isNew({ id: turnId, conversationId }, note) {
      if (note === "") {
        told.delete(conversationId);
        return false;
      }
      const last = told.get(conversationId);
      // The same turn may deliver its answer twice, after a failure in between.
      const isKnown = last?.note === note && last.turnId !== turnId && now() - last.at < repeatAfterMs;
      if (!isKnown) told.set(conversationId, { turnId, note, at: now() });
      return !isKnown;
    },
  };
}

/** Empty if the requested model answered. */
export function answeredByText(step: StepRecord | undefined): string {
  if (step === undefined || step.model === step.requestedModel) return "";
  const { model, requestedModel, insteadBecause } = step;
  const why = insteadBecause === undefined ? "" : `, because ${reasonText(requestedModel, insteadBecause)}`;
  return `*(answered by ${model}${why})*`;
}

function reasonText(model: string, code: string): string {
  if (code.startsWith("proxy.")) return `the proxy does not let requests to ${model} through`;
  switch (code) {
    case "provider.wrong-key":
      return `the key for ${model} was refused`;
    case "provider.forbidden":
      return `the key has no access to ${model}`;
    case "provider.region":
      return `the service of ${model} does not serve this country`;
    case "provider.no-credit":
      return `the account for ${model} has no credit left`;
    case "provider.spend-limit":
      return `the account for ${model} has reached its spending limit`;
    case "provider.unknown-model":
      return `the service does not know ${model}`;
    case "provider.model-ended":
      return `${model} has ended`;
    case "provider.too-long":
      return `the conversation is too long for ${model}`;
    case "provider.rate-limited":
      return `${model} gets too many requests`;
    case "provider.overloaded":
    case "provider.full":
      return `${model} is overloaded`;
    case "provider.loading":
      return `${model} was still loading`;
    case "provider.offline":
      return "there is no internet connection";
    case "provider.unreachable":
    case "provider.connect-timeout":
      return `${model} can't be reached`;
    case "provider.first-token-timeout":
    case "provider.idle-timeout":
      return `${model} took too long`;
    case "provider.refused":
      return `${model} declined to answer this`;
    case "provider.declined-earlier":
      return `${model} declined to answer something earlier in this conversation`;
    case "provider.cut":
      return `${model} broke off in its answer`;
    case "provider.no-tools":
      return `${model} can't use tools`;
    default:
      return `${model} could not answer`;
  }
}
