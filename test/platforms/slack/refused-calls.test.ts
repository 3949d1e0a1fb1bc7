/**
 * Each error that a method documents, and one that nobody knows, is given once to each caller of the method: nothing is lost,
 * nobody reads a name of Slack's, nothing is tried for ever. Plain runs take a share of the errors; `npm run chaos` takes all.
 */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ChatActions } from "../../../src/ports/chat.ts";
import type { Platform, Posts, Reply } from "../../../src/ports/platform.ts";
import { createCard, createPosts, createQuestion, targetOf } from "../../conformance/platform-world.ts";
import { openedFile } from "../../doubles/opened-file.ts";
import { shareOf } from "../../faults/share.ts";
import { after, createRefusing, type RefusedCaller, type Refusing, refusalsOf, unknownError } from "./refusing.ts";

const words = "What must not be lost.";
const sharesOf = 12;
/** Of these, the next process or the next sweep tries again. */
const away = /^platform\.(?:away|no-route)$/;

let refusing: Refusing;
beforeAll(async () => {
  refusing = await createRefusing();
});
afterAll(() => refusing.close());

const chat = () => refusing.world.platform.chat as ChatActions;
const here = () => ({ conversationId: refusing.message.conversationId, requester: refusing.message.author });
const reply = (posts: Posts = createPosts()) =>
  refusing.world.platform.reply({ ...targetOf(refusing.message), turnId: `refused${refusing.turn}` }, posts);

/** Of a process that has not been refused a stream yet: for a while after a refusal, answers are edited. */
async function streaming(): Promise<Reply> {
  const platform = await refusing.world.another();
  return platform.reply({ ...targetOf(refusing.message), turnId: `refused${refusing.turn}` }, createPosts());
}

async function streamed(refuse: () => void): Promise<void> {
  const stream = await streaming();
  await stream.write("What must not");
  refuse();
  await stream.finish(words, []);
}

async function appended(refuse: () => void): Promise<void> {
  const { slack } = refusing.world;
  const [stream, calls] = [await streaming(), slack.callsOf("chat.appendStream").length];
  await stream.write("What must");
  refuse();
  await stream.write("What must not");
  await slack.until(() => slack.callsOf("chat.appendStream").length > calls);
  await stream.finish(words, []);
}

async function updated(refuse: () => void): Promise<void> {
  const posts = createPosts();
  const first = reply(posts);
  await first.write("What must not");
  await first.leave?.();
  refuse();
  await reply(posts).finish(words, []);
}

const file = { name: "words.txt", path: fileURLToPath(import.meta.url), mimeType: "text/plain" };
const withFile = after(() => reply().finish(words, [file]));
const fileId = () => {
  const { slack } = refusing.world;
  slack.people.say({ as: slack.ann, in: slack.general, text: "this", files: [{ name: "a.txt", content: "alpha" }] });
  return [...slack.state.files.keys()].at(-1) ?? "";
};

/** What it says instead of results is for the model, too. */
async function searched(by: Platform, messageIds: string[]): Promise<void> {
  const { notice } =
    (await by.chat?.search?.({ text: "axolotl", limit: 5 }, { ...here(), messageIds, listed: [] })) ?? {};
  expect(notice ?? "").not.toMatch(/[a-z]_[a-z]/);
}

/** Without the token of a message, it searches with a user's. */
async function searchedAsUser(): Promise<void> {
  const { slack, another } = refusing.world;
  const { botToken, appToken, apiUrl } = slack;
  const access = {
    botToken,
    apiUrl,
    transport: { type: "socket", appToken },
    userToken: slack.userToken(slack.ann),
  } as const;
  await searched(await another({ access }), []);
}

const callers: Record<string, RefusedCaller> = {
  "an answer": { method: "chat.postMessage", run: after(() => reply().finish(words, [])), says: words },
  "a failure": { method: "chat.postMessage", run: after(() => reply().fail("", words)), says: words },
  "a line": { method: "chat.postMessage", run: after(() => reply().note({ key: "n", line: [words] })), says: words },
  "a card": { method: "chat.postMessage", run: after(() => reply().ask(createCard(refusing.message))), says: "" },
  "a question": {
    method: "chat.postMessage",
    run: after(() => reply().question(createQuestion(refusing.message))),
    says: "",
  },
  "a tool's post": {
    method: "chat.postMessage",
    run: after(() => chat().post(here(), { text: words, files: [], key: `k${refusing.turn}` })),
    says: words,
  },
  "the first words of a stream": {
    method: "chat.startStream",
    async run(refuse) {
      const stream = await streaming();
      refuse();
      await stream.write("What must not");
      await stream.finish(words, []);
    },
    says: words,
  },
  "more words of a stream": { method: "chat.appendStream", run: appended, says: words, shares: 30 },
  "the end of a stream": { method: "chat.stopStream", run: streamed, says: words },
  "the end of an edited answer": { method: "chat.update", run: updated, says: words },
  "a tool's reaction": { method: "reactions.add", run: after(() => chat().react(here(), refusing.message.id, "👀")) },
  "a direct message": {
    method: "conversations.open",
    run: after(() => refusing.world.platform.reach.direct(refusing.message.author.id)),
  },
  "who is there": {
    method: "conversations.members",
    run: after(() => refusing.world.platform.reach.people([refusing.somebody().id], refusing.message.conversationId)),
  },
  "the history for a tool": { method: "conversations.replies", run: after(() => chat().history(here(), { limit: 5 })) },
  "who somebody is": {
    method: "usergroups.list",
    run: after(async () => refusing.world.platform.lookUp?.(refusing.message.author, refusing.message.conversationId)),
  },
  "who may read a channel": {
    method: "conversations.info",
    run: after(async () => refusing.world.platform.mayRead?.(refusing.message.conversationId, refusing.message.author)),
  },
  "a channel by its name": {
    method: "conversations.list",
    run: after(() => chat().history({ ...here(), channel: "#general" }, { limit: 5 })),
    isTool: true,
  },
  "the history of a channel": {
    method: "conversations.history",
    run: after(() => chat().history({ ...here(), channel: refusing.world.slack.general.id }, { limit: 5 })),
    isTool: true,
  },
  "the files of a message": {
    method: "conversations.replies",
    run: after(async () => chat().files?.(here(), refusing.message.id)),
    isTool: true,
  },
  "the channels of somebody": {
    method: "users.conversations",
    run: after(() => chat().channels(here())),
    isTool: true,
  },
  "who would read a post": {
    method: "conversations.info",
    run: after(() => chat().audience({ ...here(), channel: refusing.world.slack.general.id })),
    isTool: true,
  },
  "a search as the person who asks": {
    method: "assistant.search.context",
    run: after(() => searched(refusing.world.platform, [refusing.message.id])),
    isTool: true,
  },
  "a search as a user": {
    method: "search.messages",
    run: after(searchedAsUser),
    isTool: true,
  },
  "the announced file of an answer": { method: "files.getUploadURLExternal", run: withFile, says: words },
  "the sent file of an answer": { method: "upload", run: withFile, says: words },
  "the shown file of an answer": { method: "files.completeUploadExternal", run: withFile, says: words },
  "a tool's file": {
    method: "files.completeUploadExternal",
    run: after(() => chat().post(here(), { text: words, files: [file], key: `k${refusing.turn}` })),
    isTool: true,
  },
  "a file of a message": {
    method: "files.info",
    async run(refuse) {
      refuse();
      const attachment = { name: "a.txt", mimeType: "text/plain", bytes: 5, source: { id: fileId() } };
      await openedFile(refusing.world.platform, attachment);
    },
  },
};

describe.each(Object.entries(callers))("%s", (_, caller) => {
  const mine = [...shareOf(refusalsOf(caller.method), caller.shares ?? sharesOf), unknownError];

  test.each(mine)(`is not lost, and nobody reads a name, when ${caller.method} answers %s`, async (error) => {
    const mayReject = caller.method === "chat.postMessage" ? /./ : away;
    await refusing.check({ mayReject, ...caller }, error);
  });
});
