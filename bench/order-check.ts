/** Whether a model was shown what people said in the order they said it: texts are `<round>-<conversation>-<number>`, the round a word. */
export interface OrderCheck {
  /** A request to the model. */
  see(body: string): void;
  /** Whether the model was shown all that was said, and each of its answers is among the `answers` that people have seen. */
  isThrough(conversation: string, messages: number, answers: number): boolean;
  /** Conversations that were shown less than all, twice, or in another order. */
  problems(round: string, conversations: number, messages: number): string[];
}

export function createOrderCheck(): OrderCheck {
  /** What the newest request of a conversation showed. */
  const shown = new Map<string, number[]>();
  const requests = new Map<string, number>();
  const wrong = new Set<string>();
  return {
    see(body) {
      const said = [...saidIn(body)];
      const [conversation] = said.map(({ conversation }) => conversation);
      if (conversation === undefined) return;
      const numbers = said.filter((each) => each.conversation === conversation).map(({ number }) => number);
      if (numbers.length !== said.length) wrong.add(`${conversation} was shown what was said elsewhere`);
      if (numbers.some((number, index) => number !== index)) wrong.add(`${conversation} was shown as ${numbers}`);
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
