/** The page's copy of the chat, without a browser. */
import { expect, test } from "vitest";

interface Message {
  id: string;
  revision: number;
}
interface Chat {
  load(state: object): void;
  merge(message: Message): Message | undefined;
  receive(message: Message): Message | undefined;
  keepPage(place: string, page: object[]): void;
  get(id: string): Message | undefined;
  revision(): number;
  isLoaded(place: string): boolean;
  inPlace(place: string): Message[];
}

const path = new URL("../../../src/platforms/local/page/chat.js", import.meta.url).href;
const { createChat }: { createChat: () => Chat } = await import(path);

function message(id: string, revision: number, sequence = revision) {
  return { id, revision, sequence, place: "channel:general", thread: null, isDeleted: false, author: { isBot: false } };
}

test("only the live stream moves the revision, so a reconnect skips no change of another place", () => {
  const chat = createChat();
  chat.load({ revision: 5, pageSize: 50 });
  chat.merge(message("sent", 9));
  chat.keepPage("channel:general", [message("loaded", 8)]);
  expect(chat.revision()).toBe(5);
  chat.receive(message("streamed", 6));
  expect(chat.revision()).toBe(6);
});

test("an older state of a message never replaces a newer one", () => {
  const chat = createChat();
  chat.load({ revision: 0, pageSize: 50 });
  chat.receive({ ...message("m", 7), text: "new" } as Message);
  chat.merge({ ...message("m", 3), text: "old" } as Message);
  expect(chat.get("m")).toMatchObject({ text: "new" });
});

test("a place shows nothing until it is loaded, and then no gap", () => {
  const chat = createChat();
  chat.load({ revision: 0, pageSize: 2 });
  chat.receive(message("early", 3, 3));
  expect([chat.isLoaded("channel:general"), chat.inPlace("channel:general")]).toEqual([false, []]);
  chat.keepPage("channel:general", [message("a", 10, 10), message("b", 11, 11)]);
  expect(chat.inPlace("channel:general").map(({ id }) => id)).toEqual(["a", "b"]);
});
