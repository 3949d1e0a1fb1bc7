/**
 * Checks that the model saw each conversation's messages in order. Texts are `<round>-<conversation>-<number>`, with a word as
 * the round.
 */
export interface OrderCheck {
  /** Records a request to the model. */
  see(body: string): void;
  /** Whether the model saw all messages, and people saw all of its `answers`. */
  isThrough(conversation: string, messages: number, answers: number): boolean;
  /** Conversations with missing, repeated or reordered messages. */
  problems(round: string, conversations: number, messages: number): string[];
}

export function createOrderCheck(): OrderCheck {
  /** Message numbers in the newest request, by conversation. */
  const shown = new Map<string, number[]>();
  const requests = new Map<string, number>();
  const wrong = new Set<string>();
  return {
    see(body) {
      const said = [...saidIn(body)];
      const [conversation] = said.map(({ conversation }) => conversation);
      if (conversation === undefined) return;
      const numbers = said.filter((each) => each.conversation === conversation).map(({ number }) => number);
      if (numbers.length !== said.length) wrong.add(`${conversation} contained another conversation's messages`);
      if (numbers.some((number, index) => number !== index)) wrong.add(`${conversation} had the order ${numbers}`);
      shown.set(conversation, numbers);
      requests.set(conversation, (requests.get(conversation) ?? 0) + 1);
    },
    isThrough: (conversation, messages, answers) =>
      shown.get(conversation)?.length === messages && requests.get(conversation) === answers,
    problems(round, conversations, messages) {
      const missing = Array.from({ length: conversations }, (_, index) => `${round}-${index}`).filter(
        (conversation) => shown.get(conversation)?.length !== messages,
      );
      return [...wrong, ...missing.map((conversation) => `${conversation} ended with ${shown.get(conversation)}`)];
    },
  };
}

const block = /say (\w+-\d+)-(\d+)\./g;

function* saidIn(body: string): Generator<{ conversation: string; number: number }> {
  const { messages } = JSON.parse(body) as { messages: { role: string; content: unknown }[] };
  for (const { role, content } of messages) {
    if (role !== "user") continue;
    for (const [, conversation = "", number] of JSON.stringify(content).matchAll(block)) {
      yield { conversation, number: Number(number) };
    }
  }
}
