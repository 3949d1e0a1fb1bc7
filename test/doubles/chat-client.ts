/** A person on the local page (page-client.ts), with what tests wait for. */
import { connectToPage, type PageClient, type Place } from "../../src/evals/page-client.ts";
import type { StoredMessage } from "../../src/platforms/local/chat-message.ts";

export type { Place } from "../../src/evals/page-client.ts";
export type SeenMessage = StoredMessage;

export interface ChatClient extends PageClient {
  command(name: string, rest?: string, place?: Place): Promise<SeenMessage>;
  /** The agent's finished answer to the message. */
  answerTo(said: SeenMessage): Promise<SeenMessage>;
  /** The open card for the message. */
  cardFor(said: SeenMessage): Promise<SeenMessage>;
  /** The card about changes below the message's answer, open or decided. */
  changesFor(said: SeenMessage): Promise<SeenMessage>;
}

export async function createChatClient(url: string, token: string, person = "ann"): Promise<ChatClient> {
  const page = await connectToPage({ url, token, person });
  const { seen, waitFor } = page;

  const threadOf = (said: SeenMessage) => said.thread ?? (said.place.startsWith("channel:") ? said.id : null);
  const isReplyTo = (said: SeenMessage) => (message: SeenMessage) =>
    message.author.isBot && message.thread === threadOf(said) && message.sequence > said.sequence;

  return {
    ...page,
    async command(name, rest = "", place = { channel: "general" }) {
      const answer = await page.post("/local/api/commands", { person, name, rest, ...place });
      return (answer as { message: SeenMessage }).message;
    },
    answerTo: (said) =>
      waitFor(
        (message) =>
          isReplyTo(said)(message) &&
          message.type === "message" &&
          message.state !== "streaming" &&
          // The progress above a card has been removed.
          !message.isDeleted &&
          !hasCardAfter(message),
      ),
    cardFor: (said) =>
      waitFor((message) => isReplyTo(said)(message) && message.type === "card" && message.state === "waiting"),
    changesFor: (said) => waitFor((message) => isReplyTo(said)(message) && isAboutChanges(message)),
  };

  /** Text above a card is not the final answer, unless the card is about the turn's changes. */
  function hasCardAfter(message: SeenMessage): boolean {
    return [...seen.values()].some(
      (other) =>
        other.type === "card" &&
        !isAboutChanges(other) &&
        other.thread === message.thread &&
        other.sequence > message.sequence,
    );
  }

  function isAboutChanges({ card }: SeenMessage): boolean {
    return card?.items[0]?.changes !== undefined;
  }
}
