/** `GET /local/api/search` finds messages; `GET /local/api/waiting` lists the cards that wait for this person. */
import type { Hono } from "hono";
import { authorOf } from "./build-message.ts";
import type { StoredMessage } from "./chat-message.ts";
import type { ChatStore } from "./chat-store.ts";
import { maxSearchLength, maxWaitingCards } from "./limits.ts";
import type { LocalPlatformOptions } from "./options.ts";

export function mountFinding(
  app: Hono,
  { store, mayAnswer }: { store: ChatStore } & Pick<LocalPlatformOptions, "mayAnswer">,
): void {
  app.get("/local/api/search", async (context) => {
    const { person = "", query = "", before } = context.req.query();
    if (query.length > maxSearchLength)
      return context.json({ error: `Search for at most ${maxSearchLength} characters.` }, 400);
    const end = before === undefined ? Number.MAX_SAFE_INTEGER : Number.parseInt(before, 10) || 0;
    return context.json(await store.search(person, query, end));
  });
  app.get("/local/api/waiting", async (context) => {
    const person = store.people().find(({ id }) => id === context.req.query("person"));
    if (person === undefined) return context.json({ cards: [] });
    // A card may have copies in direct messages.
    const waiting = uniqueCards(store.waitingCards(person.id, maxWaitingCards));
    const answerable = await Promise.all(
      waiting.map(({ card }) => card !== undefined && mayAnswer(card.id, authorOf(person))),
    );
    const cards = waiting
      .filter((_, index) => answerable[index])
      .map(({ id, place, thread, card }) => {
        const headline = card?.items.find(({ state }) => state === "open")?.headline;
        return { id, place, thread, requester: card?.requesterName, headline };
      });
    return context.json({ cards });
  });
}

function uniqueCards(messages: StoredMessage[]): StoredMessage[] {
  return [...new Map(messages.toReversed().map((message) => [message.card?.id, message])).values()].toReversed();
}
