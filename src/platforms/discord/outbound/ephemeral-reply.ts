/** Acknowledges clicks, forms and commands within Discord's three seconds. Only the person sees the receipt. */
import {
  type APIInteraction,
  type APIMessage,
  InteractionResponseType,
  MessageFlags,
  type RawFile,
  Routes,
} from "discord.js";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { AnswerReceipt, CommandReceipt } from "../../../ports/message.ts";
import { type DiscordApi, isRefusal, isRefused } from "../api/api.ts";
import { interactionAckMs } from "../limits.ts";
import { noMentions } from "./messages.ts";
import { escapePlain } from "./plain-text.ts";
import { attachmentFor, attachmentText } from "./receipt-file.ts";
import { maxAnswerMessages, renderAll } from "./render.ts";

export interface EphemeralReplies {
  /** Sends the first answer. Undefined if the interaction already has one. Rejects if Discord accepted no answer. */
  respond(interaction: APIInteraction, body: object): Promise<APIMessage | undefined>;
  /** Never rejects. */
  withReceipt(interaction: APIInteraction, work: () => Promise<CommandReceipt>): Promise<void>;
}

const maxAckMs = interactionAckMs - 200;

const notTaken: CommandReceipt = privately({
  text: "That didn't work: something failed on my side. Nothing changed. Try again.",
});

export function privately({ text, file }: Pick<AnswerReceipt, "text" | "file">): CommandReceipt {
  return { text: escapePlain(text), isPrivate: true, ...(file === undefined ? {} : { file }) };
}

export function createEphemeralReplies({ api, log }: { api: DiscordApi; log: Log }): EphemeralReplies {
  async function respond(interaction: APIInteraction, body: object): Promise<APIMessage | undefined> {
    const route = Routes.interactionCallback(interaction.id, interaction.token);
    const query = { with_response: "true" };
    try {
      type Answer = { resource?: { message?: APIMessage } } | undefined;
      // After three seconds Discord drops the answer, but the click must still count.
      const signal = AbortSignal.timeout(maxAckMs);
      const answer = await api.request<Answer>({ method: "POST", route, body, query, withoutToken: true, signal });
      return answer?.resource?.message;
    } catch (thrown) {
      if (isRefusal(thrown, "alreadyAcknowledged")) return undefined;
      log.warn({ interaction: interaction.id, error: messageOf(thrown) }, "could not acknowledge an interaction");
      throw thrown;
    }
  }

  async function acknowledge(interaction: APIInteraction): Promise<boolean> {
    const type = InteractionResponseType.DeferredChannelMessageWithSource;
    const once = () => respond(interaction, { type, data: { flags: MessageFlags.Ephemeral } });
    // A refusal may be a passing one. Where the answer is too late, the second one is refused, too.
    return await once()
      .catch(once)
      .then(
        () => true,
        () => false,
      );
  }

  async function show(interaction: APIInteraction, receipt: CommandReceipt): Promise<void> {
    const { text, file } = receipt;
    if (file === undefined) return await send(interaction, receipt);
    const { attachment, note } = attachmentFor(file, interaction.attachment_size_limit);
    try {
      await send(interaction, { ...receipt, text: text + note }, [attachment]);
      await file.delivered?.(note === "");
    } catch (thrown) {
      let isRead = false;
      try {
        if (!isRefused(thrown)) throw thrown;
        const { shown, isWhole } = attachmentText(file);
        await send(interaction, { ...receipt, text: `${text}\n\n${shown}` });
        isRead = isWhole;
      } finally {
        await file.delivered?.(isRead);
      }
    }
  }

  async function send(interaction: APIInteraction, { text, isPrivate }: CommandReceipt, extra: RawFile[] = []) {
    const parts = renderAll(text);
    const isFile = parts.length > maxAnswerMessages;
    const files = isFile ? [{ name: "answer.md", data: text }, ...extra] : extra;
    for (const [index, content] of (isFile ? parts.slice(0, 1) : parts.length === 0 ? ["Done."] : parts).entries()) {
      const isFirst = index === 0;
      await api.request({
        method: isFirst ? "PATCH" : "POST",
        route: isFirst
          ? Routes.webhookMessage(interaction.application_id, interaction.token, "@original")
          : Routes.webhook(interaction.application_id, interaction.token),
        body: {
          content,
          allowed_mentions: noMentions,
          flags: MessageFlags.SuppressEmbeds | (isPrivate ? MessageFlags.Ephemeral : 0),
        },
        ...(isFirst ? { files } : {}),
        withoutToken: true,
      });
    }
  }

  return {
    respond,
    async withReceipt(interaction, work) {
      const isAcknowledged = await acknowledge(interaction);
      let receipt: CommandReceipt;
      try {
        receipt = await work();
      } catch (thrown) {
        log.error({ interaction: interaction.id, error: messageOf(thrown) }, "could not handle an interaction");
        receipt = notTaken;
      }
      if (!isAcknowledged) return;
      try {
        await show(interaction, receipt);
      } catch (thrown) {
        log.warn({ interaction: interaction.id, error: messageOf(thrown) }, "could not show a receipt");
        // Otherwise the person would see for ever that somebody is thinking.
        await send(interaction, { text: receipt.text, isPrivate: true }).catch(() => {});
      }
    },
  };
}
