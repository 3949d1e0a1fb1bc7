/** Handles clicks below an answer: Details, Retry and ratings. Only the person who clicked sees what they say. */
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { FooterReceipt } from "../../../ports/answer-footer.ts";
import type { PlatformHandlers } from "../../../ports/platform.ts";
import type { SlackApi } from "../api/api.ts";
import type { Identity } from "../api/identity.ts";
import type { People } from "../api/people.ts";
import { formatConversationId, formatMessageId, threadOf } from "../conversation-id.ts";
import type { EphemeralReplies, Recipient } from "../outbound/ephemeral-reply.ts";
import { readFooterClick } from "../outbound/footer.ts";
import { createPrivateFiles } from "../outbound/private-files.ts";

export interface FooterClicksOptions {
  handlers: Pick<PlatformHandlers, "onFooter">;
  api: SlackApi;
  identity(): Promise<Identity>;
  people: People;
  ephemeral: EphemeralReplies;
  log: Log;
}

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
}

const failed: FooterReceipt = { accepted: false, text: "That didn't work. Try again in a moment." };

export function createFooterClicks(options: FooterClicksOptions): FooterClicks {
  const { handlers, identity, people, ephemeral, log } = options;
  const sendFile = createPrivateFiles(options);

  async function handle(
    click: FooterClick,
    found: NonNullable<ReturnType<typeof readFooterClick>>,
    thread: string | null,
  ) {
    const { teamId: team } = await identity();
    const { channel, container, user } = click;
    const ts = container.message_ts;
    return await handlers.onFooter({
      platform: "slack",
      conversationId: formatConversationId({ team, channel: channel.id, thread: threadOf(ts, thread ?? undefined) }),
      messageId: formatMessageId({ channel: channel.id, ts }),
      ...found,
      by: await people.author(user.id),
      at: Date.now(),
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
      try {
        const receipt = await handle(click, found, recipient.thread).catch((thrown: unknown) => {
          log.error({ person: click.user.id, error: messageOf(thrown) }, "could not handle a click below an answer");
          return failed;
        });
        await tell(recipient, receipt);
      } catch (thrown) {
        log.warn(
          { person: click.user.id, error: messageOf(thrown) },
          "could not tell a person the result of their click",
        );
      }
      return true;
    },
  };
}
