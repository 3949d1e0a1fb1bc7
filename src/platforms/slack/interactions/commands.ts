/** `/remora NAME REST`. Only its author sees the answer, except for `ask`: everybody sees the question and the answer. */
import { z } from "zod";
import { messageOf } from "../../../lib/errors.ts";
import type { LruMap } from "../../../lib/lru-map.ts";
import type { Author, InboundMessage } from "../../../ports/message.ts";
import { askText } from "../../shared/ask-text.ts";
import { anyAnswer } from "../api/api.ts";
import { isPlaceProblem, isSlackError, plainOf, whyNotThere } from "../api/api-problems.ts";
import { type DirectMessages, formatMessageId, isDirect, placeOf, threadBegunBy, timeOf } from "../conversation-id.ts";
import { readText } from "../inbound/readable-text.ts";
import type { Threads } from "../inbound/threads.ts";
import type { Recipient } from "../outbound/ephemeral-reply.ts";
import { createPrivateFiles } from "../outbound/private-files.ts";
import { withoutPreviews } from "../outbound/render.ts";
import { richText } from "../outbound/rich-text.ts";
import { beginningOf, escapeText } from "../outbound/safe-text.ts";
import type { Handling } from "./handling.ts";

export interface CommandsOptions extends Handling {
  threads: Threads;
  authors: LruMap<string>;
  directMessages: DirectMessages;
  onTaken(message: InboundMessage): void;
}

export type Commands = (body: unknown) => Promise<void>;

const schema = z.object({
  channel_id: z.string(),
  user_id: z.string(),
  text: z.string().default(""),
  response_url: z.string(),
});
const maxShownQuestionLength = 10_000;
const maxNotificationLength = 1_000;
const postedSchema = z.object({ ts: z.string() });

export function createCommands(options: CommandsOptions): Commands {
  const { handlers, api, identity, people, threads, authors, directMessages, ephemeral, log } = options;

  const sendFile = createPrivateFiles({ api, log });

  async function ask(channel: string, author: Author, text: string, recipient: Recipient): Promise<void> {
    const self = await identity();
    const ts = await postQuestion(channel, author, text);
    const isDm = isDirect(channel);
    const message: InboundMessage = {
      id: formatMessageId({ channel, ts }),
      ...placeOf({ team: self.teamId, channel, thread: threadBegunBy({ channel, ts }, directMessages) }, author.id),
      ...{ author, text, attachments: [], isAddressed: true, isDirect: isDm, at: timeOf(ts) },
    };
    authors.set(message.id, author.id);
    try {
      if (!isDm) await threads.join(channel, ts);
      const notice = await handlers.onMessage(message);
      if (notice === undefined) return options.onTaken(message);
      await takeBack(channel, ts);
      await ephemeral.markdown(recipient, notice.text || "I left this out. Try again in a minute.");
    } catch (thrown) {
      await takeBack(channel, ts);
      throw thrown;
    }
  }

  /** If it stays, the person still has to be told why there is no answer. */
  async function takeBack(channel: string, ts: string): Promise<void> {
    await api.call("chat.delete", { channel, ts }, anyAnswer).catch((thrown: unknown) => {
      if (isSlackError(thrown, "message_not_found")) return;
      log.warn({ channel, error: messageOf(thrown) }, "could not take back the question of a command");
    });
  }

  /** Shows the question above its answer. Pings nobody. */
  async function postQuestion(channel: string, author: Author, text: string): Promise<string> {
    const block = richText([
      { type: "text", text: `${author.name} asks: `, style: { bold: true } },
      { type: "text", text: beginningOf(text, maxShownQuestionLength) },
    ]);
    const content = {
      text: escapeText(`${author.name} asks: ${beginningOf(text, maxNotificationLength)}`),
      blocks: [block],
    };
    return (
      await api.call("chat.postMessage", { channel, ...content, ...withoutPreviews }, postedSchema, { isOnce: true })
    ).ts;
  }

  async function run(channel: string, by: Author, name: string, rest: string, recipient: Recipient): Promise<void> {
    const { teamId: team } = await identity();
    const place = placeOf({ team, channel, thread: null }, by.id);
    // Slack has no commands in threads, so this one is about the threads of the DM, not in one of them.
    const isBesideThreads = isDirect(channel) && directMessages === "threads";
    const command = { ...place, ...(isBesideThreads ? { isBesideThreads } : {}), name, rest, by, at: Date.now() };
    const { text, file } = await handlers.onCommand(command);
    const note = file === undefined ? [] : [await sendFile(recipient, file)];
    await ephemeral.markdown(recipient, [text, ...note].join("\n\n"));
  }

  return async (body) => {
    const { channel_id: channel, user_id: userId, text, response_url: responseUrl } = schema.parse(body);
    const recipient = { userId, channel, thread: null, responseUrl };
    const [, name = "", raw = ""] = /^\s*(\S*)\s*([\s\S]*)$/.exec(text) ?? [];
    try {
      const self = await identity();
      const by = await people.author(userId);
      const rest = await readText(raw, { botUserId: self.userId, nameOf: people.nameOf });
      const command = name.toLowerCase();
      const said = askText(command, rest);
      if (said !== undefined) await ask(channel, by, said, recipient);
      else await run(channel, by, command, rest, recipient);
    } catch (thrown) {
      log.error({ command: name.slice(0, 40), error: messageOf(thrown) }, "a slash command failed");
      await ephemeral.plain(recipient, failureText(thrown)).catch(() => {});
    }
  };
}

function failureText(thrown: unknown): string {
  if (isSlackError(thrown, "not_in_channel", "channel_not_found"))
    return "I can't write here, because I am not in this channel. Invite me first with /invite.";
  if (isPlaceProblem(thrown)) return `I can't write here: ${whyNotThere(thrown)}. Ask me in a direct message.`;
  return `That didn't work: ${plainOf(thrown)}`;
}
