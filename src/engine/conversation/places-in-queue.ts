/** Finds out what each queued request waits for, from the ledger, so that every process says the same. */
import type { Ledger, LedgerEntry } from "../../ports/ledger.ts";
import type { Author, InboundMessage, ReplyTarget } from "../../ports/message.ts";
import { requesterOf, type TurnRecord } from "../../ports/turn.ts";
import { plainValue } from "../turn/tool-phrases.ts";
import { byTime, turnIdFor } from "./inbox.ts";

/** Messages that will make one turn. */
export interface WaitingRequest {
  target: ReplyTarget;
  firstMessageId: string;
  since: number;
  text: string;
}

export interface PlacesInQueue {
  /** Oldest first. Without those that get no line. */
  requests: WaitingRequest[];
  waitingTurnIds: ReadonlySet<string>;
}

type QueuedMessage = Pick<LedgerEntry<"message">, "body" | "createdAt">;

interface Group {
  conversationId: string;
  author: Author;
  first: InboundMessage;
  newest: InboundMessage;
  messages: InboundMessage[];
  since: number;
}

/** Enough to tell everybody their place; nobody counts further. */
const maxMessages = 500;
const maxNameCharacters = 40;

export async function placesInQueue(ledger: Ledger, isSteering: boolean): Promise<PlacesInQueue> {
  const entries = await ledger.list("message", { states: ["queued"], limit: maxMessages });
  if (entries.length === 0) return { requests: [], waitingTurnIds: new Set() };
  const groups = groupsOf(entries);
  const waitsIn = new Set(groups.map(({ conversationId }) => conversationId));
  const running = new Map<string, Author>();
  const unseen = new Set<string>();
  for (const { body } of await ledger.list("turn", { states: ["running"] })) {
    running.set(body.conversationId, requesterOf(body));
    if (waitsIn.has(body.conversationId) && !(await isSeen(ledger, body))) unseen.add(body.conversationId);
  }
  const before = new Map<string, number>();
  let free = 0;
  const requests = groups.flatMap((group) => {
    const busyWith = running.get(group.conversationId);
    const here = before.get(group.conversationId) ?? 0;
    before.set(group.conversationId, here + 1);
    const ahead = free;
    if (here === 0 && busyWith === undefined) free += 1;
    const text = waitingText(group, here, busyWith, ahead);
    const isJoining = isSteering && here === 0 && busyWith?.id === group.author.id;
    // Nobody waits in front of a screen for a scheduled task.
    const isScheduled = group.first.id.startsWith("schedule:");
    return isJoining || isScheduled || unseen.has(group.conversationId) ? [] : [requestOf(group, text)];
  });
  return { requests, waitingTurnIds: new Set(groups.map(({ first }) => turnIdFor(first))) };
}

/** False if the turn's answer is still to be posted. It must not appear below the line of a later request. */
async function isSeen(ledger: Ledger, { id, undelivered }: TurnRecord): Promise<boolean> {
  if (undelivered !== undefined) return false;
  const posts = await ledger.list("post", { group: id });
  const newest = posts.findLast((post) => !post.id.startsWith(`${id}:try:`));
  return newest?.id.startsWith(`${id}:text:`) === true;
}

/** The messages of each request that waits, in the order in which a turn would take them. */
export function queuedRequests(
  entries: readonly QueuedMessage[],
): { target: ReplyTarget; messages: InboundMessage[] }[] {
  return groupsOf(entries).map((group) => ({ target: targetOf(group), messages: group.messages }));
}

/** Like `createTurnStarter`: a turn has consecutive messages of one person. */
function groupsOf(entries: readonly QueuedMessage[]): Group[] {
  const groups: Group[] = [];
  const newestIn = new Map<string, Group>();
  for (const { body, createdAt } of entries.toSorted((one, other) => byTime(one.body, other.body))) {
    const { conversationId, author } = body;
    const open = newestIn.get(conversationId);
    if (open?.author.id === author.id) {
      open.newest = body;
      open.messages.push(body);
      continue;
    }
    const group: Group = { conversationId, author, first: body, newest: body, messages: [body], since: createdAt };
    newestIn.set(conversationId, group);
    groups.push(group);
  }
  return groups;
}

function waitingText({ author }: Group, here: number, busyWith: Author | undefined, ahead: number): string {
  const beforeHere = here + (busyWith === undefined ? 0 : 1);
  if (beforeHere > 1) return `Waiting: ${beforeHere} requests before yours here`;
  if (busyWith !== undefined) {
    const whose = busyWith.id === author.id ? "your other" : `${plainValue(busyWith.name, maxNameCharacters)}'s`;
    return `Waiting for ${whose} request here to finish`;
  }
  if (here === 1) return "Waiting: 1 request before yours here";
  if (ahead === 0) return "Waiting: yours is next";
  return `Waiting: ${ahead} ${ahead === 1 ? "request" : "requests"} before yours`;
}

function requestOf(group: Group, text: string): WaitingRequest {
  return { target: targetOf(group), firstMessageId: group.first.id, since: group.since, text };
}

function targetOf({ conversationId, first, newest }: Group): ReplyTarget {
  const { platform, replyTo, id } = newest;
  return { platform, conversationId, turnId: turnIdFor(first), messageId: replyTo ?? id };
}
