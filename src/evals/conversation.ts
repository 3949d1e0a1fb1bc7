/**
 * Plays one person's side of a conversation on the page: writes, attaches, and clicks on cards as the task says. An answer is
 * over when no turn runs, every card that is to be answered is, and the files that people approved are kept.
 */
import { randomUUID } from "node:crypto";
import { extname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { StoredMessage } from "../platforms/local/chat-message.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { BotSession, Said } from "./bot.ts";
import { connectToPage, type PageClient, type PageOptions, type Place } from "./page-client.ts";
import type { TaskTurn } from "./task.ts";

export interface ConversationOptions extends PageOptions {
  place: Place;
  /** Of the task: contents by path. */
  files: Readonly<Record<string, string>>;
  ledger: Pick<Ledger, "list">;
}

export interface Conversation extends Pick<BotSession, "say"> {
  /** How many cards have asked so far. */
  cards(): number;
  close(): void;
}

const pollMs = 100;
/** Changes that can't be kept have no card, and nothing more happens to them. */
const maxSettlingMs = 10_000;
const mimeTypes: Record<string, string> = {
  ...{ ".csv": "text/csv", ".html": "text/html", ".json": "application/json", ".md": "text/markdown" },
};

export async function openConversation({
  place,
  files,
  ledger,
  ...options
}: ConversationOptions): Promise<Conversation> {
  const client = await connectToPage(options);
  const asked = new Set<string>();
  const left = new Set<string>();
  let thread: string | undefined;

  async function write({ say, attach }: TaskTurn): Promise<StoredMessage> {
    const attachments = [];
    for (const path of attach) attachments.push(await upload(path));
    const isNew = place.channel !== undefined && thread === undefined;
    const where = thread === undefined ? place : { ...place, thread };
    const said = await client.say(isNew ? `@remora ${say}` : say, where, attachments);
    if (isNew) thread = said.id;
    return said;
  }

  function upload(path: string): Promise<{ upload: string }> {
    const mimeType = mimeTypes[extname(path)] ?? "text/plain";
    const name = path.split("/").at(-1) ?? path;
    return client.upload(randomUUID(), { name, mimeType, content: files[path] ?? "" });
  }

  async function answerCards(approve: TaskTurn["approve"]): Promise<void> {
    for (const card of waiting(client, "card")) {
      if (asked.has(card.id)) continue;
      asked.add(card.id);
      const isAnswered =
        approve !== "never" && (await answerCard(client, card, approve === "yes" ? "approve" : "deny"));
      if (!isAnswered) left.add(card.id);
    }
  }

  async function isOver(said: StoredMessage): Promise<boolean> {
    const [queued, open] = await Promise.all([
      ledger.list("message", { states: ["queued"], limit: 1 }),
      ledger.list("turn", { states: ["running", "parked"] }),
    ]);
    if (queued.length > 0) return false;
    const isWaiting = waiting(client, "question").length > 0 || waiting(client, "card").some(({ id }) => left.has(id));
    if (open.length > 0) return isWaiting && open.every(({ body }) => body.wokenAt === undefined);
    if ((await turnOf(ledger, said)) === undefined) return hasReceipt(client, said);
    return isWaiting || (await isSettled());
  }

  async function isSettled(): Promise<boolean> {
    const drafts = await ledger.list("draft", { states: ["open"] });
    return drafts.every(({ updatedAt }) => Date.now() - updatedAt > maxSettlingMs);
  }

  return {
    async say(turn, signal) {
      const said = await write(turn);
      for (; ; await wait(pollMs, undefined, { signal })) {
        await answerCards(turn.approve);
        if (await isOver(said)) break;
      }
      const ended = await turnOf(ledger, said);
      const isFailed = ended === undefined || ended.state === "failed" || ended.state === "stopped";
      return { text: await textAfter(client, options.person, said, thread), state: isFailed ? "failed" : "answered" };
    },
    cards: () => asked.size,
    close: client.close,
  };
}

function waiting({ seen }: PageClient, type: "card" | "question"): StoredMessage[] {
  return [...seen.values()].filter((message) => message.type === type && message.state === "waiting");
}

/** As the person; if somebody else must answer it, as the operator at the machine. */
async function answerCard(client: PageClient, message: StoredMessage, choice: "approve" | "deny"): Promise<boolean> {
  const cardOrApprovalId = message.card?.id;
  const { accepted } = await client.click(message, choice, { cardOrApprovalId });
  if (accepted) return true;
  const answer = (await client.post("/dashboard/answers", { cardOrApprovalId, choice })) as { accepted: boolean };
  return answer.accepted;
}

/** A message that got no turn. */
function hasReceipt({ seen }: PageClient, said: StoredMessage): boolean {
  return [...seen.values()].some(({ type, sequence }) => type === "receipt" && sequence > said.sequence);
}

async function turnOf(ledger: Pick<Ledger, "list">, said: StoredMessage) {
  const turns = await ledger.list("turn", { order: "newest" });
  return turns.find(({ body }) => body.messages.some(({ id }) => id === said.id));
}

/** Also what the bot has answered directly instead. */
async function textAfter(
  client: PageClient,
  person: string,
  said: StoredMessage,
  thread?: string,
): Promise<Said["text"]> {
  const places = [`place=dm:${person}`, ...(thread === undefined ? [] : [`thread=${thread}`])];
  const messages = await Promise.all(
    places.map(async (place) => {
      const response = await client.request("GET", `/local/api/messages?person=${person}&${place}`);
      return ((await response.json()) as { messages: StoredMessage[] }).messages;
    }),
  );
  return messages
    .flat()
    .filter(({ author, sequence, isDeleted }) => author.isBot && !isDeleted && sequence > said.sequence)
    .map(({ text }) => text)
    .filter((text) => text !== "")
    .join("\n\n");
}
