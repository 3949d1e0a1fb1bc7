/**
 * `/remora model` sets the model for a conversation, or for all conversations of a channel without their own choice. A
 * stored choice that the configuration does not offer is ignored.
 */
import { asCode } from "../lib/text/sanitize.ts";
import type { CommandHandler } from "../ports/command.ts";
import type { InboundCommand, Scope } from "../ports/message.ts";
import type { Store } from "../ports/store.ts";

export interface ModelChoice {
  /** `provider/model`. Undefined if the configured order applies. */
  preferred(conversationId: string, scope: Scope): Promise<string | undefined>;
  command: CommandHandler;
}

export interface ModelChoiceOptions {
  store: Store;
  /** Every `provider/model`, in the configured order. Never empty. */
  models: readonly string[];
  /** False for a channel in which each thread is a conversation. */
  isConversation(conversationId: string): Promise<boolean>;
}

const maxShownModelCharacters = 200;
const maxShownInputCharacters = 80;

const conversationKey = (conversationId: string) => `model:conversation:${conversationId}`;
const scopeKey = (scope: Scope) => `model:scope:${scope}`;

export function createModelChoice({ store, models, isConversation }: ModelChoiceOptions): ModelChoice {
  async function chosen(key: string): Promise<string | undefined> {
    const model = await store.get(key);
    return models.find((known) => known === model);
  }

  async function preferred(conversationId: string, scope: Scope): Promise<string | undefined> {
    const own = (await chosen(conversationKey(conversationId))) ?? (await chosen(scopeKey(scope)));
    if (own !== undefined || !scope.startsWith("dm:")) return own;
    // A choice for a DM from before its threads were conversations.
    return await chosen(conversationKey(wholeOf(conversationId)));
  }

  async function choicePlace({
    conversationId,
    scope,
    isBesideThreads,
  }: InboundCommand): Promise<{ key: string; older?: string[]; name: string; uses: string }> {
    if (isBesideThreads)
      return {
        key: scopeKey(scope),
        older: [conversationId, wholeOf(conversationId)].map(conversationKey),
        name: "all threads in this DM",
        uses: "use",
      };
    const isOwn = scope.startsWith("dm:") || (await isConversation(conversationId));
    return isOwn
      ? { key: conversationKey(conversationId), name: "this conversation", uses: "uses" }
      : { key: scopeKey(scope), name: "all conversations in this channel without their own choice", uses: "use" };
  }

  async function overview({ conversationId, scope }: InboundCommand): Promise<string> {
    const now = await preferred(conversationId, scope);
    const [first] = models;
    const lines = models.map((model) => {
      const isUsed = model === (now ?? first);
      return `- ${shownModel(model)}${isUsed ? ` — used here${now === undefined ? " by default" : ""}` : ""}`;
    });
    if (models.length === 1) return lines.join("\n");
    const more = "If it fails, I try the others in this order. To choose one: `/remora model NAME`";
    return [...lines, "", more].join("\n");
  }

  async function run(command: InboundCommand): Promise<string> {
    const wanted = command.rest.trim();
    if (wanted === "") return await overview(command);
    const { key, older = [], name, uses } = await choicePlace(command);
    if (wanted === "default") {
      for (const each of [key, ...older]) await store.delete(each);
      const now = await preferred(command.conversationId, command.scope);
      return now === undefined
        ? `Back to the default for ${name}: ${shownModel(models[0] ?? "")}.`
        : `Removed the choice for ${name}. It now uses the channel's choice, ${shownModel(now)}.`;
    }
    const model = models.find((known) => known.toLowerCase() === wanted.toLowerCase());
    if (model === undefined) {
      const known = models.map(shownModel).join(", ");
      return `There is no model ${asCode(wanted, maxShownInputCharacters)}. Available: ${known}. Whoever runs Remora can add it to models.choices in config/remora.yaml.`;
    }
    await store.set(key, model);
    for (const each of older) await store.delete(each);
    return `From the next message on, ${name} ${uses} ${shownModel(model)}. To go back: \`/remora model default\``;
  }

  const description = "list the models, or choose one for this conversation";
  return { preferred, command: { usage: "model [PROVIDER/MODEL | default]", description, run } };
}

/** The DM that a thread is in. */
function wholeOf(conversationId: string): string {
  return conversationId.slice(0, conversationId.lastIndexOf(":"));
}

function shownModel(model: string): string {
  return asCode(model, maxShownModelCharacters);
}
