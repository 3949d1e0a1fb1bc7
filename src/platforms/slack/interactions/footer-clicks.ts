/**
 * Handles clicks below an answer: Details, Retry and ratings. Only the person who clicked sees what they say. 👎 opens a modal
 * first, because its trigger expires after three seconds. Slack itself shows which thumb is chosen.
 */
import { messageOf } from "../../../lib/errors.ts";
import type { FooterReceipt } from "../../../ports/answer-footer.ts";
import { openView } from "../api/views.ts";
import { formatMessageId } from "../conversation-id.ts";
import type { Recipient } from "../outbound/ephemeral-reply.ts";
import { readFooterClick } from "../outbound/footer.ts";
import { createPrivateFiles } from "../outbound/private-files.ts";
import type { Handling } from "./handling.ts";
import { readWords, wordsModal } from "./words-modal.ts";

export interface FooterClick {
  user: { id: string };
  trigger_id?: string | undefined;
  channel: { id: string };
  container: { message_ts: string };
  actions: { action_id: string; value: string }[];
}

export interface FooterClicks {
  /** Resolves to false if the click was not below an answer. Never rejects. */
  take(click: FooterClick, recipient: Recipient): Promise<boolean>;
  /** Takes what a person wrote in the modal. Never rejects. */
  submit(userId: string, turnId: string, values: unknown): Promise<void>;
}

type Found = NonNullable<ReturnType<typeof readFooterClick>>;

const failed: FooterReceipt = { accepted: false, text: "That didn't work. Try again in a moment." };

export function createFooterClicks(options: Handling): FooterClicks {
  const { handlers, api, people, ephemeral, log } = options;
  const sendFile = createPrivateFiles(options);

  async function handle({ channel, container, user }: FooterClick, found: Found): Promise<FooterReceipt> {
    const messageId = formatMessageId({ channel: channel.id, ts: container.message_ts });
    const by = await people.author(user.id);
    return await handlers.onFooter({ platform: "slack", messageId, ...found, by, at: Date.now() });
  }

  async function openModal(click: FooterClick, turnId: string): Promise<void> {
    await openView(api, click.trigger_id, wordsModal(turnId)).catch((thrown: unknown) => {
      log.info({ person: click.user.id, error: messageOf(thrown) }, "could not ask what was wrong with an answer");
    });
  }

  async function tell(recipient: Recipient, { text, file }: FooterReceipt): Promise<void> {
    const note = file === undefined ? "" : await sendFile(recipient, file);
    const shown = [text, note].filter(Boolean).join("\n\n");
    if (shown !== "") await ephemeral.markdown(recipient, shown);
  }

  return {
    async take(click, recipient) {
      const [action] = click.actions;
      const found = action && readFooterClick(action.action_id, action.value);
      if (found === undefined) return false;
      const modal = found.action === "bad" ? openModal(click, found.turnId) : undefined;
      try {
        const receipt = await handle(click, found).catch((thrown: unknown) => {
          log.error({ person: click.user.id, error: messageOf(thrown) }, "could not handle a click below an answer");
          return failed;
        });
        await modal;
        const isRating = found.action === "good" || found.action === "bad";
        if (!isRating || !receipt.accepted) await tell(recipient, receipt);
      } catch (thrown) {
        log.warn(
          { person: click.user.id, error: messageOf(thrown) },
          "could not tell a person the result of their click",
        );
      }
      return true;
    },
    async submit(userId, turnId, values) {
      const text = readWords(values);
      if (text === undefined) return;
      try {
        const by = await people.author(userId);
        await handlers.onFooter({ platform: "slack", turnId, action: "bad", text, by, at: Date.now() });
      } catch (thrown) {
        log.error({ person: userId, error: messageOf(thrown) }, "could not keep what a person said about an answer");
      }
    },
  };
}
