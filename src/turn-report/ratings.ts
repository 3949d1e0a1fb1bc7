/**
 * Keeps what people think of answers: one rating for each person and turn, the latest wins. The line for people is in the
 * feedback file of the turn's scope and day; the ledger counts.
 */
import { createKeyedMutex } from "../lib/keyed-mutex.ts";
import { createLruMap } from "../lib/lru-map.ts";
import { oneLine } from "../lib/text/sanitize.ts";
import type { FooterReceipt, InboundFooterClick } from "../ports/answer-footer.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { Memory } from "../ports/memory.ts";
import type { Author } from "../ports/message.ts";
import type { RatingRecord, RatingState, Ratings } from "../ports/rating.ts";
import type { TurnRecord } from "../ports/turn.ts";
import { goneText, type Records } from "./show-record.ts";

export interface RatingsOptions {
  ledger: Ledger;
  memory: Pick<Memory, "recordFeedback">;
  records: Pick<Records, "refusal">;
  isOn: boolean;
  now?: () => number;
}

export interface KeptRatings extends Ratings {
  rate(click: InboundFooterClick): Promise<FooterReceipt>;
  /** Adds a sentence to the person's rating of the turn. An empty one takes the rating back. */
  say(turn: TurnRecord, by: Author, text: string): Promise<FooterReceipt>;
}

const maxWordsCharacters = 1_000;
const maxAskedCharacters = 120;
/** Rewriting a file for each click of an impatient person would slow the others down. */
const maxChanges = 20;
const changesWindowMs = 60_000;
const maxCounted = 10_000;
const maxPeople = 1_000;
const allStates: RatingState[] = ["good", "bad", "said", "withdrawn"];
const shownStates: RatingState[] = ["good", "bad", "said"];

const off: FooterReceipt = { accepted: false, text: "Ratings are switched off here." };
const tooMany: FooterReceipt = { accepted: false, text: "That is a lot of clicks. Try again in a minute." };
const thanks: Record<RatingState, string> = {
  good: "Thanks! I noted that this answer helped.",
  bad: "Thanks. I noted that this answer did not help.",
  said: "Thanks. I noted what you said about this answer.",
  withdrawn: "I removed your rating of this answer.",
};

export function createRatings({ ledger, memory, records, isOn, now = Date.now }: RatingsOptions): KeptRatings {
  const changes = createLruMap<number[]>(maxPeople);
  /** One at a time for each person, or a withdrawal could arrive before the rating that it takes back is kept. */
  const inOrder = createKeyedMutex();

  function isFlood(platform: string, by: Author): boolean {
    const key = `${platform}:${by.id}`;
    const recent = (changes.get(key) ?? []).filter((at) => now() - at < changesWindowMs);
    if (recent.length >= maxChanges) return true;
    changes.set(key, [...recent, now()]);
    return false;
  }

  async function turnOf({ platform, turnId, messageId }: InboundFooterClick): Promise<TurnRecord | undefined> {
    const known = turnId ?? (await ledger.get("answer", `${platform}:${messageId}`))?.body.turnId;
    return known === undefined ? undefined : (await ledger.get("turn", known))?.body;
  }

  /** Writes the line first: without an entry in the ledger, the next click repeats it. */
  async function keep(turn: TurnRecord, by: Author, state: RatingState, words: string): Promise<FooterReceipt> {
    const id = ratingId(turn, by);
    const { id: turnId, scope, conversationId, startedAt, target } = turn;
    const asked = oneLine(turn.messages.map(({ text }) => text).join(" "), maxAskedCharacters);
    const said = oneLine(words, maxWordsCharacters);
    await memory.recordFeedback({
      ...{ id, turnId, scope, at: startedAt, tool: "answer", outcome: state, by },
      summary: `turn ${turnId}, asked: ${asked}${said === "" ? "" : ` — said: ${said}`}`,
      replaces: state === "withdrawn" ? "with-nothing" : "with-this",
    });
    const body: RatingRecord = {
      ...{ turnId, platform: target.platform, conversationId, scope, by: { id: by.id, name: by.name } },
      ...{ at: now(), hasWords: said !== "" },
    };
    const isNew = await ledger.create("rating", id, { state, body, group: scope });
    if (!isNew) await ledger.transition("rating", id, allStates, state, () => body);
    return { accepted: true, text: thanks[state] };
  }

  async function refusal(
    turn: TurnRecord,
    platform: string,
    by: Author,
    isMissed = false,
  ): Promise<FooterReceipt | undefined> {
    if (!isOn) return off;
    const text = await records.refusal(turn, platform, by);
    if (text !== undefined) return { accepted: false, text };
    return !isMissed && isFlood(platform, by) ? tooMany : undefined;
  }

  async function rate(click: InboundFooterClick): Promise<FooterReceipt> {
    const { platform, action, by, text = "", withdraws, isMissed } = click;
    const turn = await turnOf(click);
    if (turn === undefined) return { accepted: false, text: goneText };
    const current = await ledger.get("rating", ratingId(turn, by));
    const state: RatingState = action === "good" || action === "bad" ? action : "withdrawn";
    if (withdraws !== undefined && current?.state !== withdraws) return { accepted: true, text: "" };
    if (isMissed && current !== undefined && !isPlainThumb(current)) return { accepted: true, text: "" };
    const isSame = current?.state === state && text === "";
    if (isSame || (current === undefined && state === "withdrawn")) return { accepted: true, text: thanks[state] };
    return (await refusal(turn, platform, by, isMissed)) ?? (await keep(turn, by, state, text));
  }

  async function say(turn: TurnRecord, by: Author, text: string): Promise<FooterReceipt> {
    const current = await ledger.get("rating", ratingId(turn, by));
    const refused = await refusal(turn, turn.target.platform, by);
    if (refused !== undefined) return refused;
    if (text.trim() === "") return await keep(turn, by, "withdrawn", "");
    const state = current === undefined || current.state === "withdrawn" ? "said" : current.state;
    return await keep(turn, by, state, text);
  }

  return {
    rate: (click) => inOrder(click.by.id, () => rate(click)),
    say: (turn, by, text) => inOrder(by.id, () => say(turn, by, text)),
    async counts(scope) {
      const count = async (state: RatingState) =>
        (
          await ledger.list("rating", {
            states: [state],
            limit: maxCounted,
            ...(scope === undefined ? {} : { group: scope }),
          })
        ).length;
      return { good: await count("good"), bad: await count("bad") };
    },
    async recent(limit) {
      const entries = await ledger.list("rating", { states: shownStates, order: "newest", limit });
      return entries.flatMap(({ state, body }) => (state === "withdrawn" ? [] : [{ ...body, state }]));
    },
  };
}

function isPlainThumb({ state, body }: { state: RatingState; body: RatingRecord }): boolean {
  return (state === "good" || state === "bad") && !body.hasWords;
}

function ratingId({ id }: TurnRecord, by: Author): string {
  return `${id}:rating:${by.id}`;
}
