/**
 * The model that people choose for a conversation, and `/remora model`.
 *
 * Chosen in a thread or a DM it is for that conversation; chosen in a channel itself it is for all conversations there
 * that have no choice of their own. A choice that the configuration no longer offers is passed over, and kept.
 */

import { asCode } from "../lib/text/sanitize.ts";
import type { CommandHandler } from "../ports/command.ts";
import type { InboundCommand, Scope } from "../ports/message.ts";
import type { Store } from "../ports/store.ts";

export interface ModelChoice {
  /** `provider/model`; undefined: nobody chose, so the order of the configuration counts. */
  preferred(conversationId: string, scope: Scope): Promise<string | undefined>;
  command: CommandHandler;
}

export interface ModelChoiceOptions {
  store: Store;
  /** All `provider/model` that can be asked, in their order. At least one. */
  models: readonly string[];
  /** It is one in which something was said, and not a channel around its threads. */
  isConversation(conversationId: string): Promise<boolean>;
}

const conversationKey = (conversationId: string) => `model:conversation:${conversationId}`;
const scopeKey = (scope: Scope) => `model:scope:${scope}`;

export function createModelChoice({ store, models, isConversation }: ModelChoiceOptions): ModelChoice {
  async function chosen(key: string): Promise<string | undefined> {
    const model = await store.get(key);
    return models.find((known) => known === model);
  }

  async function preferred(conversationId: string, scope: Scope): Promise<string | undefined> {
    return (await chosen(conversationKey(conversationId))) ?? (await chosen(scopeKey(scope)));
  }

  async function placeOf({ conversationId, scope }: InboundCommand): Promise<{ key: string; name: string }> {
    const isOwn = scope.startsWith("dm:") || (await isConversation(conversationId));
    return isOwn
      ? { key: conversationKey(conversationId), name: "this conversation" }
      : { key: scopeKey(scope), name: "every conversation in this channel without a choice of its own" };
  }

  async function overview({ conversationId, scope }: InboundCommand): Promise<string> {
    const now = await preferred(conversationId, scope);
    const [first] = models;
    const lines = models.map((model) => {
      const isAsked = model === (now ?? first);
      return `- ${asCode(model, 200)}${isAsked ? ` — asked first here${now === undefined ? ", by default" : ""}` : ""}`;
    });
    return [...lines, "", "When it fails, the others are asked in this order. `/remora model NAME` chooses one."].join(
      "\n",
    );
  }

  async function run(command: InboundCommand): Promise<string> {
    const wanted = command.rest.trim();
    if (wanted === "") return await overview(command);
    const { key, name } = await placeOf(command);
    if (wanted === "default") {
      await store.delete(key);
      const now = await preferred(command.conversationId, command.scope);
      return now === undefined
        ? `Back to the default for ${name}: ${asCode(models[0] ?? "", 200)} is asked first.`
        : `No choice of its own for ${name} any more: the channel's counts, ${asCode(now, 200)}.`;
    }
    const model = models.find((known) => known.toLowerCase() === wanted.toLowerCase());
    if (model === undefined) {
      const there = models.map((known) => asCode(known, 200)).join(", ");
      return `There is no model ${asCode(wanted, 80)} here; there is: ${there}. More can be added under models.choices in the configuration.`;
    }
    await store.set(key, model);
    return `From the next message on ${asCode(model, 200)} is asked first in ${name}. \`/remora model default\` takes it back.`;
  }

  const description = "which models there are, and which one is asked first here";
  return { preferred, command: { usage: "model [PROVIDER/MODEL | default]", description, run } };
}
