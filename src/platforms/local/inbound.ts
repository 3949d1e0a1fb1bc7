/**
 * Passes what people do in the local chat to the agent. Each function resolves once the agent has durably stored the
 * action. At connect, `redeliver` hands over the messages that an earlier process stored but did not hand over. A
 * refusal is thrown as a `Refusal` with an HTTP status and a message for the person. Anything else thrown is a bug.
 */
import { randomUUID } from "node:crypto";
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { knownTimeZone } from "../../lib/time-zones.ts";
import type { FooterReceipt } from "../../ports/answer-footer.ts";
import type { AnswerReceipt, Author, CommandReceipt, Scope } from "../../ports/message.ts";
import type { PlatformHandlers } from "../../ports/platform.ts";
import { askText } from "../shared/ask-text.ts";
import {
  attachmentsOf,
  authorOf,
  inboundOf,
  keepFiles,
  receiptFor,
  type SentFile,
  storableMessage,
} from "./build-message.ts";
import { chatMessage, type Person, type StoredMessage } from "./chat-message.ts";
import type { ChatStore } from "./chat-store.ts";
import { conversationOf, formatConversationId } from "./conversation-id.ts";
import { hasMention, withoutMention } from "./mention.ts";
import type { Body } from "./requests.ts";

export class Refusal extends Error {
  readonly status: 400 | 403 | 404 | 409 | 503;

  constructor(status: Refusal["status"], message: string) {
    super(message);
    this.status = status;
  }
}

export interface Spot {
  person: string;
  place: Scope;
  thread: string | null;
  /** The browser's. */
  timeZone?: string;
}

export interface Inbound {
  say(said: Spot & Pick<Body<"message">, "id" | "text"> & { files: GivenFile[] }): Promise<StoredMessage>;
  edit(person: string, id: string, text: string): Promise<StoredMessage>;
  remove(person: string, id: string): Promise<void>;
  answer(answer: Body<"answer">): Promise<AnswerReceipt>;
  pick(pick: Body<"pick">): Promise<AnswerReceipt>;
  footer(click: Body<"footer">): Promise<FooterReceipt>;
  /** `/remora ask …` creates a message. Every other command is answered with a receipt. */
  command(command: Spot & { name: string; rest: string }): Promise<StoredMessage>;
  redeliver(): Promise<void>;
}

type GivenFile = Body<"message">["attachments"][number];

export interface InboundOptions {
  store: ChatStore;
  handlers(): PlatformHandlers | undefined;
  log: Log;
}

export function createInbound({ store, handlers, log }: InboundOptions): Inbound {
  function connected(): PlatformHandlers {
    const connectedHandlers = handlers();
    if (connectedHandlers !== undefined) return connectedHandlers;
    throw new Refusal(503, "Remora is starting or stopping. Try again in a moment.");
  }

  function personOf(id: string): Person {
    const person = store.people().find((known) => known.id === id);
    if (person === undefined) throw new Refusal(404, `There is nobody called "${id}" here. Add the person first.`);
    return person;
  }

  function checkSpot({ person, place, thread }: Spot): Person {
    const author = personOf(person);
    const isOpen = place.startsWith("channel:") ? store.channels.has(place.slice(8)) : place === `dm:${person}`;
    if (!isOpen) throw new Refusal(404, `There is no ${place.replace(":", " ")} for ${author.name}.`);
    if (thread === null) return author;
    const root = store.spotOf(thread);
    if (place.startsWith("dm:") || root?.place !== place || root.thread !== null) {
      throw new Refusal(404, "That thread does not exist. Reload the page.");
    }
    return author;
  }

  function ownMessage(person: string, id: string): StoredMessage {
    const message = store.get(id);
    const isTheirs = message?.author.id === personOf(person).id && message.type === "message";
    if (message === undefined || message.isDeleted) throw new Refusal(404, "That message is gone. Reload the page.");
    if (!isTheirs) throw new Refusal(403, "You can change only your own messages.");
    return message;
  }

  /** A message of an earlier process comes without the zone of its browser. */
  async function handOver(message: StoredMessage, zone?: string): Promise<void> {
    const said = inboundOf(message);
    const inbound = { ...said, author: inZone(said.author, zone) };
    const notice = await connected().onMessage(inbound);
    await store.markHandedOver(message.id);
    if (notice === undefined || notice.text === "") return;
    const { place, thread, author } = message;
    await store.put(receiptFor({ place, thread, text: notice.text, onlyFor: author.id }));
  }

  function clickable(person: string, messageId: string, type: StoredMessage["type"]): StoredMessage {
    const message = store.get(messageId);
    const isSeen = message?.type === type && (message.place.startsWith("channel:") || message.place === `dm:${person}`);
    if (!isSeen) throw new Refusal(404, `That ${type} does not exist. Reload the page.`);
    return message;
  }

  function sentFile(given: GivenFile, author: Person): SentFile {
    if (!("upload" in given)) {
      const { name, mimeType, base64 } = given;
      return { name, mimeType, content: Buffer.from(base64, "base64") };
    }
    const upload = store.files.uploaded(given.upload, author.id);
    if (upload === undefined) throw new Refusal(404, "An attached file is not here any more. Attach it again.");
    return { upload };
  }

  async function say(
    { id, text, files, ...spot }: Parameters<Inbound["say"]>[0],
    isAsked = false,
  ): Promise<StoredMessage> {
    const author = checkSpot(spot);
    connected();
    if (text === "" && files.length === 0) throw new Refusal(400, "The message is empty. Write something.");
    const messageId = id ?? randomUUID();
    const isDirect = spot.place.startsWith("dm:");
    const isAddressed =
      isAsked || isDirect || hasMention(text) || (spot.thread !== null && store.isAgentsThread(spot.thread));
    const { place, thread } = spot;
    const message = chatMessage({
      ...{ id: messageId, author: { ...author, isBot: false }, place, thread, text, isAddressed },
    });
    if (files.length > 0 && store.spotOf(messageId) === undefined)
      message.files = keepFiles(
        store,
        messageId,
        files.map((file) => sentFile(file, author)),
      );
    await store.insert(message, false);
    const stored = storedBy(store, messageId);
    if (stored.author.id !== author.id || stored.place !== place || stored.thread !== thread) {
      throw new Refusal(409, "Another message already has this id. Send it again with a new one.");
    }
    if (!store.isHandedOver(messageId)) await handOver(stored, spot.timeZone);
    return stored;
  }

  return {
    say: (said) => say(said),
    async edit(person, id, text) {
      const message = ownMessage(person, id);
      if (text === "") throw new Refusal(400, "The message is empty. To remove it, delete it.");
      await store.put({ ...storableMessage(message), text, editedAt: Date.now() });
      await connected().onEdited("local", id, withoutMention(text));
      return storedBy(store, id);
    },
    async remove(person, id) {
      const message = ownMessage(person, id);
      await connected().onDeleted("local", id);
      await store.put({ ...storableMessage(message), text: "", files: [], isDeleted: true });
      store.files.remove(message.files.map((file) => file.id));
    },
    async answer({ person, ...answer }) {
      const by = authorOf(personOf(person));
      const { messageId, cardOrApprovalId, choice, parts = [] } = answer;
      const message = clickable(person, messageId, "card");
      if (choice === "part" && parts.length === 0) {
        const deny = message.card?.items.find((item) => item.approvalId === cardOrApprovalId)?.changes?.labels.deny;
        throw new Refusal(400, `Choose at least one file. To keep none, use “${deny ?? "Deny"}” on the card.`);
      }
      const conversationId = conversationIdOf(message);
      return await connected().onAnswer({ platform: "local", conversationId, ...answer, by, at: Date.now() });
    },
    async pick({ person, messageId, questionId, option, said }) {
      const author = personOf(person);
      const conversationId = conversationIdOf(clickable(person, messageId, "question"));
      const files = said?.attachments.map((file) => sentFile(file, author)) ?? [];
      return await connected().onPick({
        ...{ platform: "local", conversationId, questionId, by: authorOf(author), at: Date.now() },
        ...(option === undefined ? {} : { option }),
        ...(said && {
          said: { text: said.text, attachments: attachmentsOf(keepFiles(store, `${messageId}.${person}`, files)) },
        }),
      });
    },
    async footer({ person, ...click }) {
      const by = authorOf(personOf(person));
      const { footer } = clickable(person, click.messageId, "message");
      if (footer === undefined) throw new Refusal(404, "There is nothing below that message. Reload the page.");
      return await connected().onFooter({ platform: "local", turnId: footer.turnId, ...click, by, at: Date.now() });
    },
    async command({ name, rest, ...spot }) {
      const said = name === "ask" ? rest : askText(name, rest);
      if (said !== undefined) return await say({ ...spot, text: said, files: [] }, true);
      const { place, thread, person, timeZone } = spot;
      const by = inZone(authorOf(checkSpot(spot)), timeZone);
      const where = { platform: "local", conversationId: conversationIdOf(spot), scope: place };
      const isInThread = thread !== null;
      const receipt = await connected().onCommand({ ...where, isInThread, name, rest, by, at: Date.now() });
      const answer = receiptFor({
        ...{ place, thread, text: withFile(receipt), command: `/remora ${name} ${rest}`.trim() },
        ...(receipt.isPrivate ? { onlyFor: person } : {}),
      });
      await store.put(answer);
      return storedBy(store, answer.id);
    },
    async redeliver() {
      for (const message of store.notHandedOver()) {
        // A message that fails again must block neither the others nor the start. The next connect retries it.
        await handOver(message).catch((thrown: unknown) =>
          log.error({ messageId: message.id, error: messageOf(thrown) }, "could not redeliver a message"),
        );
      }
    },
  };
}

function inZone(person: Author, zone: string | undefined): Author {
  const timeZone = knownTimeZone(zone);
  return timeZone === undefined ? person : { ...person, timeZone };
}

function conversationIdOf({ place, thread }: Pick<StoredMessage, "place" | "thread">): string {
  return formatConversationId(conversationOf(place, thread));
}

/** The page shows long texts too, so it needs no file. */
function withFile({ text, file }: CommandReceipt): string {
  return file === undefined ? text : `${text}\n\n${file.text}`;
}

function storedBy(store: ChatStore, id: string): StoredMessage {
  const stored = store.get(id);
  if (stored === undefined) throw new TypeError(`message ${id} was written and is not there`);
  return stored;
}
