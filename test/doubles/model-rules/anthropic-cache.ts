/** What Anthropic refuses about cache breakpoints, and what Amazon's service does behind a gateway. */
import { isJsonObject } from "../../../src/lib/json.ts";
import { isThinking, messagesIn } from "./claude-messages.ts";
import type { ModelRule, Refusal } from "./rule.ts";

const source = "https://platform.claude.com/docs/en/build-with-claude/prompt-caching";
const read = "2026-11-28";
const maxBreakpoints = 4;

type Body = Record<string, unknown>;

interface Marked {
  place: string;
  block: Record<string, unknown>;
  mark: Record<string, unknown>;
}

/** In the order in which the service reads them. */
function marksIn(body: Body): Marked[] {
  const tools = listOf(body.tools).map((block, index) => ({ place: `tools.${index}.custom`, block }));
  const system = listOf(body.system).map((block, index) => ({ place: `system.${index}.${block.type}`, block }));
  const messages = messagesIn(body).flatMap(({ blocks }, at) =>
    blocks.map((block, index) => ({ place: `messages.${at}.content.${index}.${block.type}`, block })),
  );
  return [...tools, ...system, ...messages].flatMap(({ place, block }) =>
    isJsonObject(block.cache_control) ? [{ place, block, mark: block.cache_control }] : [],
  );
}

function listOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.map((each) => Object(each)) : [];
}

export function cacheRules(refuse: (message: string) => Refusal): ModelRule[] {
  return [
    {
      says: "a request has at most four breakpoints",
      source,
      read,
      refuse({ body }) {
        const { length } = marksIn(body);
        return length > maxBreakpoints
          ? refuse(`A maximum of ${maxBreakpoints} blocks with cache_control may be provided. Found ${length}.`)
          : undefined;
      },
    },
    {
      says: "what stays for an hour comes before what stays for five minutes",
      source,
      read,
      refuse({ body }) {
        const marks = marksIn(body);
        const isHour = ({ mark }: Marked) => mark.ttl === "1h";
        const firstShort = marks.findIndex((one) => !isHour(one));
        const late = firstShort === -1 ? undefined : marks.slice(firstShort).find(isHour);
        return late === undefined
          ? undefined
          : refuse(
              `${late.place}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.`,
            );
      },
    },
    {
      says: "a breakpoint has a type and a life, and nothing else",
      source,
      read,
      refuse({ body }) {
        for (const { place, mark } of marksIn(body)) {
          const other = Object.keys(mark).find((name) => name !== "type" && name !== "ttl");
          if (other !== undefined)
            return refuse(`${place}.cache_control.ephemeral.${other}: Extra inputs are not permitted`);
          if (mark.ttl !== undefined && mark.ttl !== "1h" && mark.ttl !== "5m")
            return refuse(`${place}.cache_control.ephemeral.ttl: Input should be '5m' or '1h'`);
        }
        return undefined;
      },
    },
    {
      says: "thinking and empty text have no breakpoint",
      source,
      read,
      refuse({ body }) {
        const wrong = marksIn(body).find(({ block }) => isThinking(block as never) || block.text === "");
        return wrong === undefined ? undefined : refuse(`${wrong.place}.cache_control: Extra inputs are not permitted`);
      },
    },
  ];
}

/** LiteLLM in front of Amazon's service, as it passes on what that says. */
export const shortCacheRule: ModelRule = {
  says: "older models at Amazon know no life of a breakpoint",
  source: "https://github.com/BerriAI/litellm/issues/15880",
  read,
  refuse({ body }) {
    const long = marksIn(body).find(({ mark }) => mark.ttl !== undefined);
    if (long === undefined) return undefined;
    const message = `{"message":"${long.place}.cache_control.ephemeral.ttl: Extra inputs are not permitted"}. Received Model Group=bedrock/us.anthropic.claude-sonnet-4-5\nAvailable Model Group Fallbacks=None`;
    return { status: 400, body: { error: { message, type: "None", param: "None", code: "400" } } };
  },
};
