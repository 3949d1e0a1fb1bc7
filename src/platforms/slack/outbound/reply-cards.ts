/** Cards, questions and lines of one reply. Each closes the open text, and is a message of its own, which is updated later. */
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { ApprovalCard, CardNote } from "../../../ports/card.ts";
import type { QuestionCard } from "../../../ports/question.ts";
import type { FormContents } from "../../shared/form-contents.ts";
import type { SlackApi } from "../api/api.ts";
import { isAway, isRefusal } from "../api/api-problems.ts";
import { formatMessageId } from "../conversation-id.ts";
import type { SessionState } from "./agent-sessions.ts";
import { type CardFiles, cardMessages, emptyPart } from "./cards/card.ts";
import { noteMessage } from "./cards/mention-line.ts";
import { type UploadedFile, uploadText } from "./files-out.ts";
import type { MessageSender } from "./message-sender.ts";
import type { Destination } from "./messages-of.ts";
import { questionMessage } from "./question.ts";

/** A reply that has begun to write. */
export interface Begun {
  sender: MessageSender;
  destination: Destination;
}

export interface ReplyCardsOptions {
  api: SlackApi;
  formContents: FormContents;
  log: Log;
  turnId: string;
  begin(): Promise<Begun>;
  /** Ends the text above. */
  closeText(place: Begun): Promise<unknown>;
  setState(state: SessionState): Promise<void>;
}

export function createReplyCards(options: ReplyCardsOptions) {
  const { api, formContents, log, turnId, begin, closeText, setState } = options;
  /** Cards and questions that people have not answered yet. */
  const waitingFor = new Set<string>();

  async function ask(card: ApprovalCard): Promise<void> {
    const place = await begin();
    const { sender } = place;
    // A report of changes asks nothing.
    const isOpen = card.items.some(({ state }) => state === "open");
    if (isOpen) waitingFor.add(card.id);
    if (sender.tsOf(`card:${card.id}`) === undefined) await closeText(place);
    await formContents.keep(card);
    await showCard(sender, card);
    if (isOpen) await setState("suspended");
    const { files } = cardMessages(card, "awaited");
    if (files.length === 0 || sender.isKept(filesKey(card))) return;
    try {
      if (!(await sender.areShared(filesKey(card)))) {
        const uploaded: UploadedFile[] = [];
        for (const { name, text } of files) uploaded.push(await uploadText(api, name, text));
        await sender.share(filesKey(card), uploaded);
      }
    } catch (thrown) {
      if (isAway(thrown)) throw thrown;
      log.warn({ turnId, error: messageOf(thrown) }, "could not upload a card's file");
      await sender.keep(refusedKey(card), "1");
    }
    await showCard(sender, card);
  }

  async function settle(card: ApprovalCard): Promise<void> {
    waitingFor.delete(card.id);
    const { sender } = await begin();
    if ((await sender.find(`card:${card.id}`)) === undefined) return;
    await formContents.keep(card);
    await formContents.drop(card);
    await showCard(sender, card).catch((thrown: unknown) => {
      // Slack would refuse it again. A click on what still looks open says what became of it.
      if (!isRefusal(thrown)) throw thrown;
      log.warn({ turnId, error: messageOf(thrown) }, "could not update a settled card");
    });
  }

  async function question(card: QuestionCard): Promise<void> {
    const place = await begin();
    const { sender } = place;
    const key = `question:${card.id}`;
    await formContents.keepQuestion(card);
    if (card.isOpen) waitingFor.add(card.id);
    else waitingFor.delete(card.id);
    const ts = card.isOpen ? sender.tsOf(key) : await sender.find(key);
    if (ts === undefined && !card.isOpen) return;
    if (ts === undefined) {
      await closeText(place);
      await sender.post(key, questionMessage(card));
    } else
      await sender.update(ts, key, questionMessage(card)).catch((thrown: unknown) => {
        if (!isRefusal(thrown)) throw thrown;
        log.warn({ turnId, error: messageOf(thrown) }, "could not update a question");
      });
    if (card.isOpen) await setState("suspended");
  }

  return {
    isWaiting: () => waitingFor.size > 0,
    ask,
    settle,
    question,
    /** An existing note stays as it is. */
    async note(said: CardNote): Promise<string> {
      const { sender, destination } = await begin();
      const key = `note:${said.key}`;
      const ts = sender.tsOf(key) ?? (await sender.post(key, noteMessage(said)));
      return formatMessageId({ channel: destination.channel, ts });
    },
  };
}

/** Posts or updates the card's messages. Settled items need less room, so later messages may become empty. */
async function showCard(sender: MessageSender, card: ApprovalCard): Promise<void> {
  const { parts } = cardMessages(card, cardFilesOf(sender, card));
  const partKey = (index: number) => (index === 0 ? `card:${card.id}` : `card-part:${card.id}:${index}`);
  while (sender.tsOf(partKey(parts.length)) !== undefined) parts.push(emptyPart());
  for (const [index, content] of parts.entries()) {
    const key = partKey(index);
    const ts = sender.tsOf(key);
    if (ts === undefined) await sender.post(key, content);
    else await sender.update(ts, key, content);
  }
}

function filesKey({ id }: ApprovalCard): string {
  return `card-files:${id}`;
}

function refusedKey({ id }: ApprovalCard): string {
  return `card-files-refused:${id}`;
}

/** After a restart, the upload of a refused file is tried again. */
function cardFilesOf(sender: MessageSender, card: ApprovalCard): CardFiles {
  if (sender.isKept(filesKey(card))) return "shared";
  return sender.isKept(refusedKey(card)) ? "refused" : "awaited";
}
