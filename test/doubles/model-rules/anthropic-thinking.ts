/** What Anthropic refuses about thinking: settings that a model does not have, and blocks that did not come from it. */
import { answeredBlocks, type Block, isThinking, messagesIn } from "./claude-messages.ts";
import { familiesOf5, isSince } from "./claude-models.ts";
import type { ModelCall, ModelRule, Refusal } from "./rule.ts";

type Refuse = (message: string) => Refusal;

const read = "2026-11-27";
const docs = "https://platform.claude.com/docs/en";
const updatesHeader = "thinking-display-updates-2026-08-18";

export function thinkingRules(refuse: Refuse): ModelRule[] {
  return [
    {
      says: "each model has its own types of thinking",
      source: `${docs}/build-with-claude/thinking-troubleshooting`,
      read,
      refuse: ({ body }) => refusedType(body, refuse),
    },
    {
      says: "between_tools takes no other field, and effort up to high",
      source: `${docs}/models/sonnet-5-5/whats-new-sonnet-5-5`,
      read,
      refuse({ body }) {
        const { type, ...rest } = Object(body.thinking);
        if (type !== "between_tools") return undefined;
        const [extra] = Object.keys(rest);
        if (extra !== undefined) return refuse(`thinking.between_tools.${extra}: Extra inputs are not permitted`);
        const { effort } = Object(body.output_config);
        return ["xhigh", "max"].includes(effort)
          ? refuse(`"thinking.type.between_tools" is not supported at effort "${effort}".`)
          : undefined;
      },
    },
    {
      says: "display: updates needs its beta header",
      source: `${docs}/build-with-claude/thinking`,
      read,
      refuse: ({ body, headers }) =>
        Object(body.thinking).display === "updates" && !String(headers["anthropic-beta"]).includes(updatesHeader)
          ? refuse("thinking.adaptive.display: Input should be 'summarized' or 'omitted'")
          : undefined,
    },
    {
      says: "thinking blocks come back as they were, in order, and after the same conversation",
      source:
        "https://support.claude.com/en/articles/16761192-preserved-thinking-changing-how-the-messages-api-handles-thinking-blocks-to-protect-against-distillation",
      read,
      refuse: (call) => refusedBlocks(call, refuse),
    },
  ];
}

function refusedType({ model, thinking }: Record<string, unknown>, refuse: Refuse): Refusal | undefined {
  const { type } = Object(thinking);
  if (type === undefined) return undefined;
  const is = (since: Parameters<typeof isSince>[1]) => isSince(model, since);
  const isSonnet55 = is({ sonnet: 505 });
  const takes: Record<string, boolean> = {
    adaptive: is({ opus: 406, sonnet: 406, haiku: 505, ...familiesOf5 }),
    enabled: !is({ opus: 407, sonnet: 500, haiku: 505, ...familiesOf5 }),
    disabled: !isSonnet55 && !is({ opus: 505, ...familiesOf5 }),
    between_tools: isSonnet55,
  };
  if (takes[type] === true) return undefined;
  if (type === "adaptive") return refuse("adaptive thinking is not supported on this model");
  const instead = isSonnet55 ? ' Use "thinking.type.between_tools" for the lowest thinking setting, or' : " Use";
  return refuse(
    `"thinking.type.${type}" is not supported for this model.${instead} "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`,
  );
}

function refusedBlocks({ body, answers, asked }: ModelCall, refuse: Refuse): Refusal | undefined {
  const messages = messagesIn(body);
  const latest = messages.findLastIndex(({ role }) => role === "assistant");
  for (const [index, { role, blocks }] of messages.entries()) {
    const thoughts = blocks.filter(isThinking);
    if (role !== "assistant" || thoughts.length === 0) continue;
    const place = `messages.${index}.content.${blocks.findIndex(isThinking)}`;
    const from = answers.flatMap((answer, at) =>
      isSame(answeredBlocks(answer).filter(isWholeThinking), thoughts) ? [at] : [],
    );
    if (from.length === 0)
      return refuse(
        index === latest
          ? `${place}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.`
          : `${place}: Invalid \`signature\` in \`thinking\` block`,
      );
    if (!from.some((at) => isAfterSame(asked[at] ?? {}, body, index)))
      return refuse(
        `${place}: Invalid \`signature\` in \`thinking\` block. The block is bound to a different conversation. Remove the block, or set \`thinking.block_binding.prefix_mismatch_behavior\` to "drop_block".`,
      );
  }
  return undefined;
}

/** Thinking that the output limit cut off has no signature, so it can't come back. */
function isWholeThinking(block: Block): boolean {
  return isThinking(block) && (block.type !== "thinking" || Boolean(block.signature));
}

function isSame(given: Block[], sent: Block[]): boolean {
  const plain = ({ type, thinking = "", signature = "", data = "" }: Block) => [type, thinking, signature, data];
  return JSON.stringify(given.map(plain)) === JSON.stringify(sent.map(plain));
}

/** Blocks of another model are ignored, not refused. Cache breakpoints, effort and `tool_choice` do not matter. */
function isAfterSame(asked: Record<string, unknown>, body: Record<string, unknown>, messages: number): boolean {
  if (asked.model !== body.model) return true;
  const before = (one: Record<string, unknown>, count: number) =>
    JSON.stringify([one.system, one.tools, messagesIn(one).slice(0, count)], (key, value) =>
      key === "cache_control" ? undefined : value,
    );
  return before(asked, Number.POSITIVE_INFINITY) === before(body, messages);
}
