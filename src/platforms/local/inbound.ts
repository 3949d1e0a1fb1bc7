/**
 * Passes what people do in the local chat to the agent. Each function resolves once the agent has durably stored the
 * action. At connect, `redeliver` hands over the messages that an earlier process stored but did not hand over. A
 * refusal is thrown as a `Refusal` with an HTTP status and a message for the person. Anything else thrown is a bug.
 */
import { randomUUID } from "node:crypto";
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { FooterAction, FooterReceipt } from "../../ports/answer-footer.ts";
import type { AnswerChoice, AnswerReceipt, CommandReceipt, Scope } from "../../ports/message.ts";
import type { PlatformHandlers } from "../../ports/platform.ts";
import { askText } from "../shared/ask-text.ts";
import {
  authorOf,
  inboundOf,
  keepFiles,
  personsMessage,
  receiptFor,
  type SentFile,
  storableMessage,
} from "./build-message.ts";
import type { Person, StoredMessage } from "./chat-message.ts";
import type { ChatStore } from "./chat-store.ts";
import { conversationOf, formatConversationId } from "./conversation-id.ts";
import { hasMention, withoutMention } from "./mention.ts";

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
}

export interface Inbound {
  say(said: Spot & { id?: string | undefined; text: string; files: GivenFile[] }): Promise<StoredMessage>;
  edit(person: string, id: string, text: string): Promise<StoredMessage>;
  remove(person: string, id: string): Promise<void>;
  answer(answer: ClickedAnswer): Promise<AnswerReceipt>;
  pick(pick: { person: string; messageId: string; questionId: string; option: number }): Promise<AnswerReceipt>;
  footer(click: ClickedFooter): Promise<FooterReceipt>;
  /** `/remora ask …` creates a message. Every other command is answered with a receipt. */
  command(command: Spot & { name: string; rest: string }): Promise<StoredMessage>;
  redeliver(): Promise<void>;
}

/** A file in Base64, or the id of an upload. */
export type GivenFile = { upload: string } | { name: string; mimeType: string; base64: string };

export interface ClickedAnswer {
  person: string;
  messageId: string;
  cardOrApprovalId: string;
  choice: AnswerChoice;
  reason?: string | undefined;
  editedJson?: string | undefined;
  parts?: number[] | undefined;
  to?: string | undefined;
}

export interface ClickedFooter {
  person: string;
  messageId: string;
  action: FooterAction;
  text?: string | undefined;
}

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

  async function handOver(message: StoredMessage): Promise<void> {
    const inbound = inboundOf(message);
    const notice = await connected().onMessage(inbound);
    await store.markHandedOver(message.id);
    if (notice === undefined) return;
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
    const message = personsMessage({ id: messageId, author, place, thread, text, isAddressed });
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
    if (!store.isHandedOver(messageId)) await handOver(stored);
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
    async answer({ person, messageId, cardOrApprovalId, choice, reason, editedJson, parts, to }) {
      const by = authorOf(personOf(person));
      const message = clickable(person, messageId, "card");
      if (choice === "part" && (parts ?? []).length === 0) {
        const deny = message.card?.items.find((item) => item.approvalId === cardOrApprovalId)?.changes?.labels.deny;
        throw new Refusal(400, `Choose at least one file. To keep none, use “${deny ?? "Deny"}” on the card.`);
      }
      return await connected().onAnswer({
        platform: "local",
        conversationId: formatConversationId(conversationOf(message.place, message.thread)),
        ...{ messageId, cardOrApprovalId, choice, by, at: Date.now() },
        ...(reason === undefined ? {} : { reason }),
        ...(editedJson === undefined ? {} : { editedJson }),
        ...(parts === undefined ? {} : { parts }),
        ...(to === undefined ? {} : { to }),
      });
    },
    async pick({ person, messageId, questionId, option }) {
      const by = authorOf(personOf(person));
      const { place, thread } = clickable(person, messageId, "question");
      const conversationId = formatConversationId(conversationOf(place, thread));
      return await connected().onPick({ platform: "local", conversationId, questionId, option, by, at: Date.now() });
    },
    async footer({ person, messageId, action, text }) {
      const by = authorOf(personOf(person));
      const { footer } = clickable(person, messageId, "message");
      if (footer === undefined) throw new Refusal(404, "There is nothing below that message. Reload the page.");
      return await connected().onFooter({
        ...{ platform: "local", turnId: footer.turnId, messageId, action, by, at: Date.now() },
        ...(text === undefined ? {} : { text }),
      });
    },
    async command({ name, rest, ...spot }) {
      const said = name === "ask" ? rest : askText(name, rest);
      if (said !== undefined) return await say({ ...spot, text: said, files: [] }, true);
      const { place, thread, person } = spot;
      const by = authorOf(checkSpot(spot));
      const conversationId = formatConversationId(conversationOf(place, thread));
      const at = Date.now();
      const receipt = await connected().onCommand({
        platform: "local",
        conversationId,
        scope: place,
        name,
        rest,
        by,
        at,
      });
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

/** The page shows long texts too, so it needs no file. */
function withFile({ text, file }: CommandReceipt): string {
  return file === undefined ? text : `${text}\n\n${file.text}`;
}

function storedBy(store: ChatStore, id: string): StoredMessage {
  const stored = store.get(id);
  if (stored === undefined) throw new TypeError(`message ${id} was written and is not there`);
  return stored;
}
