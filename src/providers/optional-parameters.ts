/**
 * Asks once more without a parameter that a service refuses by name. If the service takes that, it is remembered for a while; until
 * then only for the next tries of the same step.
 */
import type { ModelEvent, Tries } from "../ports/provider.ts";
import { type ServiceRefusal, serviceRefusalIn } from "./classify-failure.ts";

export interface OptionalParameter {
  name: string;
  /** Matches what services say when they refuse it. */
  refused: RegExp;
  /** It is a field of messages and tools, so a refusal names the place of one of them. */
  isInContent?: true;
}

export interface ParameterFallback {
  /** `sent`: the parameters that a request to this model would have; the first one that a refusal names is left out. */
  stream(
    model: string,
    sent: readonly OptionalParameter[],
    ask: (leftOut: ReadonlySet<string>) => AsyncIterable<ModelEvent>,
    tries: Tries | undefined,
  ): AsyncGenerator<ModelEvent>;
}

/** Then a parameter is tried again, because the operator may have changed what serves the model. */
const maxRefusedMs = 3_600_000;

export function createParameterFallback(now: () => number = Date.now): ParameterFallback {
  const refusedUntil = new Map<string, number>();
  const ofStep = new WeakMap<Tries, Set<string>>();

  return {
    async *stream(model, sent, ask, tries = { left: Number.POSITIVE_INFINITY }) {
      const keyOf = (name: string) => `${name} ${model}`;
      const known = sent.map(({ name }) => name).filter((name) => (refusedUntil.get(keyOf(name)) ?? 0) > now());
      const learned = ofStep.get(tries) ?? new Set();
      ofStep.set(tries, learned);
      let isRefused: boolean;
      do {
        isRefused = false;
        let isFirst = true;
        for await (const event of ask(new Set([...known, ...learned]))) {
          const left = sent.filter(({ name }) => !known.includes(name) && !learned.has(name));
          const refused =
            isFirst && event.type === "error" && tries.left > 0 ? refusedIn(event.error, left) : undefined;
          if (refused !== undefined) {
            learned.add(refused.name);
            isRefused = true;
            break;
          }
          if (event.type !== "error") for (const name of learned) refusedUntil.set(keyOf(name), now() + maxRefusedMs);
          if (event.type !== "error") learned.clear();
          isFirst = false;
          yield event;
        }
      } while (isRefused);
    },
  };
}

function refusedIn(error: unknown, sent: readonly OptionalParameter[]): OptionalParameter | undefined {
  const refusal = serviceRefusalIn(error);
  if (refusal === undefined) return undefined;
  const subject = subjectOf(refusal);
  const place = `${refusal.param} ${refusal.message.replaceAll(quoted, "").slice(0, maxSubjectLength)}`;
  return sent.find(({ refused, isInContent }) => refused.test(isInContent ? place : subject));
}

/** What the sentence is about comes first. After that, services quote what they were sent. */
const maxSubjectLength = 200;
const content =
  /^\W*(?:body\W+|params?\W+|.{0,30}\bloc\W+(?:body\W+)?)?(?:messages|tools|functions|input|system|contents?)\b['"]?[\s.,[]+\d/i;
/** But not the words of another service, as gateways pass them on. */
const quoted =
  /(?<!\w|["'](?:message|msg|detail|error)["']\s*:\s*)(['"`“])[^'"`”]*\s[^'"`”]*['"`”](?!\w)|\bnear\b.*|['"]input['"]: .*/gis;

/**
 * What a refusal says of the parameters of a request. Nothing if it is about a message or a tool, whose fields have names that
 * people chose; and without what it quotes, unless that is one word.
 */
export function subjectOf({ message, param }: ServiceRefusal): string {
  if (content.test(param) || (param === "" && content.test(message))) return "";
  return `${param} ${message.replaceAll(quoted, "").slice(0, maxSubjectLength)}`;
}
