import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { StoredMessage } from "../../../src/platforms/local/chat-message.ts";
import type { InboundFooterClick } from "../../../src/ports/answer-footer.ts";
import type { Attachment, CommandReceipt, InboundCommand, InboundMessage } from "../../../src/ports/message.ts";
import type { PlatformHandlers } from "../../../src/ports/platform.ts";
import { createCard, createPosts, targetOf } from "../../conformance/platform-world.ts";
import { openedFile } from "../../doubles/opened-file.ts";
import { type LocalPage, maxUploadBytes, openLocalPage, token } from "./local-page.ts";

let page: LocalPage;
let heard: InboundMessage[];
let edited: string[][];
let footerClicks: InboundFooterClick[];
let commands: InboundCommand[];
let receipt: CommandReceipt;
let accept: () => Promise<void>;
let handlers: PlatformHandlers;

beforeEach(async () => {
  page = await openLocalPage();
  heard = [];
  edited = [];
  footerClicks = [];
  commands = [];
  receipt = { text: "All quiet.", isPrivate: true };
  accept = async () => {};
  handlers = {
    async onMessage(message) {
      await accept();
      heard.push(message);
      return undefined;
    },
    onFooter: async (click) => {
      footerClicks.push(click);
      return { accepted: true, text: "Noted." };
    },
    onPick: async () => ({ accepted: true, text: "Noted." }),
    onAnswer: async () => ({ accepted: true, text: "Noted." }),
    async onCommand(command) {
      commands.push(command);
      return receipt;
    },
    onEdited: async (platform, id, text) => void edited.push([platform, id, text]),
    unanswered: async () => [],
    onDeleted: async (...deletion) => void edited.push(deletion),
  };
  await page.platform.connect(handlers, new AbortController().signal);
});
afterEach(() => page.close());

async function say(body: object): Promise<{ status: number; message: StoredMessage; error: string }> {
  const response = await page.post("/local/api/messages", { person: "ann", channel: "general", ...body });
  return { status: response.status, ...((await response.json()) as { message: StoredMessage; error: string }) };
}

async function state(person: string) {
  const response = await page.fetch(`/local/api/state?person=${person}`);
  const state = (await response.json()) as {
    me: { id: string };
    people: { id: string; name: string }[];
    channels: string[];
    revision: number;
    commands: { usage: string }[];
  };
  const places = [...state.channels.map((name) => `channel:${name}`), `dm:${person}`];
  const pages = places.map(async (place) => [place, await page.messages(`person=${person}&place=${place}`)]);
  return { ...state, messages: Object.fromEntries(await Promise.all(pages)) as Record<string, StoredMessage[]> };
}

describe("saying", () => {
  test("a message and a command come in the browser's time zone, if it is one", async () => {
    for (const timeZone of ["Asia/Tokyo", "Nowhere/X", "+09:00", "", undefined]) {
      await say({ text: "@remora hello", timeZone });
      await page.post("/local/api/commands", { person: "ann", channel: "general", name: "timezone", timeZone });
    }
    const zones = ["Asia/Tokyo", undefined, undefined, undefined, undefined];
    expect(heard.map(({ author }) => author.timeZone)).toEqual(zones);
    expect(commands.map(({ by }) => by.timeZone)).toEqual(zones);
    expect((await say({ text: "hello", timeZone: "x".repeat(101) })).status).toBe(400);
  });

  test("a message, a thread and a DM are all there after a restart", async () => {
    const { message } = await say({ text: "@remora one" });
    await say({ text: "two", thread: message.id });
    await say({ text: "between us", channel: undefined, dm: true });
    await page.platform.reply(targetOf(heard[0] as InboundMessage), createPosts()).finish("Answer.", []);
    await page.restart();
    const { messages } = await state("ann");
    expect(messages["channel:general"]?.map((each) => [each.text, each.replies])).toEqual([["@remora one", 2]]);
    expect(messages["dm:ann"]?.map((each) => each.text)).toEqual(["between us"]);
    const thread = await page.messages(`person=ann&thread=${message.id}`);
    expect(thread.map((each) => each.text)).toEqual(["@remora one", "two", "Answer."]);
  });

  test("a megabyte is taken; above two megabytes the refusal says why", async () => {
    const text = "x".repeat(1024 * 1024);
    expect((await say({ text })).status).toBe(202);
    expect(heard[0]?.text.length).toBe(text.length);
    const refused = await say({ text: text.repeat(3) });
    expect(refused.status).toBe(413);
    expect(refused.error).toContain("2 MB");
  });

  test.each(["🦈🐟", "\u0000\u0007\u001b", "  \n ", "\ud800", "a\u202Eb"])("%j arrives as it is", async (text) => {
    expect((await say({ text })).status).toBe(202);
    expect(heard[0]?.text).toBe(text);
  });

  test("the same id is one message, and another person's message under it is refused", async () => {
    const id = "0123456789abcdef";
    await say({ id, text: "@remora once" });
    await say({ id, text: "@remora once" });
    expect(heard).toHaveLength(1);
    expect((await say({ id, person: "ben", text: "mine" })).status).toBe(409);
    expect(heard).toHaveLength(1);
  });

  test("what the agent could not keep is not acknowledged, and is handed over at the next connect at the latest", async () => {
    accept = () => Promise.reject(new Error("the disk is full."));
    const refused = await say({ id: "0123456789abcdef", text: "@remora help" });
    expect(refused.status).toBe(503);
    expect(refused.error).toContain("the disk is full");
    await page.restart();
    await page.platform.connect(handlers, new AbortController().signal);
    expect(page.platform.health().isConnected).toBe(true);
    accept = async () => {};
    await page.restart();
    await page.platform.connect(handlers, new AbortController().signal);
    expect(heard.map((message) => message.text)).toEqual(["help"]);
    await page.restart();
    await page.platform.connect(handlers, new AbortController().signal);
    expect(heard).toHaveLength(1);
  });

  test("before the agent is connected it says so, and keeps nothing", async () => {
    await page.restart();
    expect(await say({ text: "hello" })).toMatchObject({ status: 503, error: expect.stringContaining("starting") });
    expect((await state("ann")).messages["channel:general"]).toEqual([]);
  });

  test.each([
    [{ text: "x", channel: "nowhere" }, 404],
    [{ text: "x", person: "nobody" }, 404],
    [{ text: "x", thread: "nothing" }, 404],
    [{ text: "x", dm: true }, 400],
    [{ text: "x", channel: undefined }, 400],
    [{ text: "" }, 400],
    [{ text: 5 }, 400],
    [{ text: "x", id: "../../etc" }, 400],
    [{ text: "x", attachments: [{ name: "a", mimeType: "b", base64: "%%%" }] }, 400],
  ])("%j is refused with a sentence", async (body, status) => {
    const refused = await say(body);
    expect(refused.status).toBe(status);
    expect(refused.error).toMatch(/\w{3,}.*\w/);
    expect(heard).toEqual([]);
  });

  test("what is no JSON is refused", async () => {
    const response = await page.fetch("/local/api/messages", { method: "POST", body: "{" });
    expect(response.status).toBe(400);
  });

  test("small files can come inside the message, in Base64", async () => {
    const base64 = (content: string | Buffer) => Buffer.from(content).toString("base64");
    const picture = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0]);
    const { message } = await say({
      text: "@remora look",
      attachments: [
        { name: "notes.txt", mimeType: "text/plain", base64: base64("grüße") },
        { name: "a.png", mimeType: "image/png", base64: base64(picture) },
      ],
    });
    expect(heard[0]?.attachments).toEqual([
      { name: "notes.txt", mimeType: "text/plain", bytes: 7, source: { file: message.files[0]?.id } },
      { name: "a.png", mimeType: "image/png", bytes: 5, source: { file: message.files[1]?.id } },
    ]);
    expect(await contentOf(heard[0]?.attachments[0])).toBe("grüße");
    const [text, png] = await Promise.all(message.files.map((file) => page.fetch(`/local/api/files/${file.id}`)));
    expect(text?.headers.get("content-disposition")).toMatch(/^attachment/);
    expect(text?.headers.get("content-type")).toBe("application/octet-stream");
    expect(text?.headers.get("x-content-type-options")).toBe("nosniff");
    expect(text?.headers.get("content-security-policy")).toBe("default-src 'none'; sandbox");
    expect(png?.headers.get("content-disposition")).toMatch(/^inline/);
    expect(png?.headers.get("content-type")).toBe("image/png");
    expect(Buffer.from((await png?.arrayBuffer()) ?? new ArrayBuffer())).toEqual(picture);
  });

  test("an SVG or HTML file is never shown in the page's origin", async () => {
    const base64 = Buffer.from("<svg onload=alert(1)>").toString("base64");
    const { message } = await say({
      text: "x",
      attachments: [{ name: 'a"\r\n.svg', mimeType: "image/svg+xml", base64 }],
    });
    const response = await page.fetch(`/local/api/files/${message.files[0]?.id}`);
    expect(response.headers.get("content-type")).toBe("application/octet-stream");
    expect(response.headers.get("content-disposition")).toBe("attachment; filename*=UTF-8''a%22%0D%0A.svg");
  });
});

describe("uploads", () => {
  async function upload(id: string, content: Buffer | string, query = "person=ann&name=big.csv") {
    const init = { method: "PUT", headers: { "content-type": "text/csv" }, body: new Uint8Array(Buffer.from(content)) };
    const response = await page.fetch(`/local/api/uploads/${id}?${query}`, init);
    return { status: response.status, ...((await response.json()) as { error?: string; file?: object }) };
  }
  const attached = (id: string) => ({ text: "@remora look", attachments: [{ upload: id }] });

  test("a large file is uploaded on its own, and the message names the upload", async () => {
    const content = Buffer.alloc(2_500_000, "a,b\n");
    const file = { id: "upload-1", name: "big.csv", mimeType: "text/csv", bytes: 2_500_000 };
    expect(await upload("upload-1", content)).toEqual({ status: 201, file });
    const { message } = await say(attached("upload-1"));
    expect(message.files).toEqual([file]);
    expect(await contentOf(heard[0]?.attachments[0])).toBe(content.toString());
    const download = await page.fetch("/local/api/files/upload-1");
    expect(download.headers.get("content-length")).toBe("2500000");
    expect(Buffer.from(await download.arrayBuffer()).equals(content)).toBe(true);
  });

  test("an upload can be repeated until a message has it, and survives a restart", async () => {
    await upload("upload-1", "first");
    await upload("upload-1", "second");
    await page.restart();
    await page.platform.connect(handlers, new AbortController().signal);
    expect((await say(attached("upload-1"))).status).toBe(202);
    expect(await contentOf(heard[0]?.attachments[0])).toBe("second");
    expect(await upload("upload-1", "third")).toMatchObject({ status: 409 });
    expect((await say(attached("upload-1"))).status).toBe(404);
  });

  test("nobody gets or replaces another person's upload", async () => {
    await upload("upload-1", "ann's");
    expect(await upload("upload-1", "ben's", "person=ben&name=a")).toMatchObject({ status: 409 });
    expect((await say({ ...attached("upload-1"), person: "ben" })).status).toBe(404);
    expect((await say(attached("upload-1"))).status).toBe(202);
  });

  test.each([
    ["announced", () => new Uint8Array(maxUploadBytes + 1)],
    ["streamed without a length", () => new ReadableStream({ start: fillWith(maxUploadBytes + 65_536) })],
  ])("a file above the limit, %s, is refused with the limit, and nothing stays", async (_, body) => {
    const init = { method: "PUT", body: body(), duplex: "half" } as RequestInit;
    const response = await page.fetch("/local/api/uploads/upload-1?person=ann&name=a", init);
    expect(response.status).toBe(413);
    expect(await response.text()).toContain("at most 3.0 MiB (setting files.maxMegabytes)");
    expect((await say(attached("upload-1"))).status).toBe(404);
  });

  function fillWith(bytes: number) {
    return (controller: ReadableStreamDefaultController) => {
      for (let at = 0; at < bytes; at += 65_536) controller.enqueue(new Uint8Array(65_536));
      controller.close();
    };
  }

  test("other requests keep their smaller limit, announced or streamed without a length", async () => {
    const refused = await say({ text: "x".repeat(2 * 1024 * 1024) });
    expect(refused).toMatchObject({ status: 413, error: expect.stringContaining("at most 2 MB") });
    const body = new ReadableStream({ start: fillWith(3 * 1024 * 1024) });
    const streamed = await page.fetch("/local/api/messages", { method: "POST", body, duplex: "half" } as RequestInit);
    expect(streamed.status).toBe(413);
  });

  test.each([
    ["short", "person=ann&name=a", 400],
    ["upload-1", "person=ann", 400],
    ["upload-1", "person=nobody&name=a", 404],
  ])("an upload %s?%s is refused with a sentence", async (id, query, status) => {
    const refused = await upload(id, "x", query);
    expect(refused.status).toBe(status);
    expect(refused.error).toMatch(/\w{3,}/);
  });

  test("an upload that breaks off leaves nothing, and can be repeated", async () => {
    const stop = new AbortController();
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new Uint8Array(400_000)),
      pull: () => stop.abort(),
    });
    const init = { method: "PUT", body, duplex: "half", signal: stop.signal } as RequestInit;
    await expect(page.fetch("/local/api/uploads/upload-1?person=ann&name=a", init)).rejects.toThrow();
    expect((await say(attached("upload-1"))).status).toBe(404);
    await expect.poll(async () => (await upload("upload-1", "again")).status).toBe(201);
    expect((await say(attached("upload-1"))).status).toBe(202);
  });

  test("a deleted message's files are gone, and opening one gives a sentence", async () => {
    await upload("upload-1", "content");
    const { message } = await say(attached("upload-1"));
    await page.fetch(`/local/api/messages/${message.id}`, {
      method: "DELETE",
      body: JSON.stringify({ person: "ann" }),
    });
    expect((await page.fetch("/local/api/files/upload-1")).status).toBe(404);
    await expect(contentOf(heard[0]?.attachments[0])).rejects.toThrow("Send it again");
  });

  test("the page is told the limits", async () => {
    expect(await state("ann")).toMatchObject({ limits: { maxFileBytes: maxUploadBytes, maxFiles: 20 } });
  });
});

const contentOf = async (attachment: Attachment | undefined) =>
  (await openedFile(page.platform, attachment)).toString();

describe("privacy", () => {
  test("a DM and a private receipt are seen by their person alone", async () => {
    await say({ text: "my secret", channel: undefined, dm: true });
    await page.post("/local/api/commands", { person: "ann", channel: "general", name: "status", rest: "" });
    const bens = JSON.stringify(await state("ben"));
    expect(bens).not.toContain("my secret");
    expect(bens).not.toContain("All quiet.");
    expect(await page.messages("person=ben&place=dm:ann")).toEqual([]);
    const anns = JSON.stringify(await state("ann"));
    expect(anns).toContain("my secret");
    expect(anns).toContain("All quiet.");
  });

  test("a card in a DM can't be answered by somebody else", async () => {
    await say({ text: "run", channel: undefined, dm: true });
    const message = heard[0] as InboundMessage;
    await page.platform.reply(targetOf(message), createPosts()).ask(createCard(message));
    const card = (await page.messages("person=ann&place=dm:ann")).find((each) => each.type === "card");
    const answer = { messageId: card?.id, cardOrApprovalId: "approval-1", choice: "approve" };
    expect((await page.post("/local/api/answers", { ...answer, person: "ben" })).status).toBe(404);
    expect((await page.post("/local/api/answers", { ...answer, person: "ann" })).status).toBe(200);
  });
});

describe("changing", () => {
  test("an edit and a deletion reach the agent and the page", async () => {
    const { message } = await say({ text: "@remora frist" });
    const path = `/local/api/messages/${message.id}`;
    const body = { person: "ann", text: "@remora first" };
    await page.fetch(path, { method: "PATCH", body: JSON.stringify(body) });
    expect((await state("ann")).messages["channel:general"]).toMatchObject([
      { text: "@remora first", editedAt: expect.any(Number) },
    ]);
    await page.fetch(path, { method: "DELETE", body: JSON.stringify({ person: "ann" }) });
    expect((await state("ann")).messages["channel:general"]).toMatchObject([{ text: "", isDeleted: true }]);
    expect(edited).toEqual([
      ["local", message.id, "first"],
      ["local", message.id],
    ]);
  });

  test("nobody changes another's message, nor the agent's", async () => {
    const { message } = await say({ text: "@remora hello" });
    await page.platform.reply(targetOf(heard[0] as InboundMessage), createPosts()).finish("Hello.", []);
    const answer = (await page.messages(`person=ann&thread=${message.id}`))[1];
    for (const id of [message.id, answer?.id]) {
      const body = JSON.stringify({ person: "ben", text: "changed" });
      expect((await page.fetch(`/local/api/messages/${id}`, { method: "PATCH", body })).status).toBe(403);
      expect((await page.fetch(`/local/api/messages/${id}`, { method: "DELETE", body })).status).toBe(403);
    }
    expect(edited).toEqual([]);
  });
});

describe("commands", () => {
  test("a command in a thread is about that thread, one in a channel about the channel", async () => {
    const { message } = await say({ text: "@remora hello" });
    const command = { person: "ben", channel: "general", name: "stop", rest: "" };
    await page.post("/local/api/commands", { ...command, thread: message.id });
    await page.post("/local/api/commands", command);
    expect(commands.map(({ conversationId, isInThread }) => [conversationId, isInThread])).toEqual([
      [`local:channel:general:${message.id}`, true],
      ["local:channel:general", false],
    ]);
    expect(commands[0]).toMatchObject({ name: "stop", scope: "channel:general", by: { id: "ben", isBot: false } });
  });

  test("`ask` is a message to the agent", async () => {
    await page.post("/local/api/commands", { person: "ann", channel: "random", name: "ask", rest: "what time is it?" });
    expect(commands).toEqual([]);
    expect(heard).toMatchObject([{ text: "what time is it?", isAddressed: true, scope: "channel:random" }]);
  });

  test("an open receipt is seen by everybody", async () => {
    receipt = { text: "A new start.", isPrivate: false };
    await page.post("/local/api/commands", { person: "ann", channel: "general", name: "new", rest: "" });
    expect(JSON.stringify(await state("ben"))).toContain("A new start.");
    expect((await state("ben")).commands.map((command) => command.usage)).toContain("status");
  });
});

describe("people", () => {
  test("people are added by name, and an id is made that rules can carry", async () => {
    for (const name of ["Zoë Ångström", "Ann", "李雷", "Remora"]) await page.post("/local/api/people", { name });
    expect((await state("ann")).people).toEqual([
      { id: "ann", name: "Ann" },
      { id: "ben", name: "Ben" },
      { id: "zoe-angstrom", name: "Zoë Ångström" },
      { id: "ann-2", name: "Ann" },
      { id: "person", name: "李雷" },
      { id: "remora-2", name: "Remora" },
    ]);
  });

  test.each(["", "   ", "x".repeat(41), "a\u202Eb", "--"])("%j is no name", async (name) => {
    expect((await page.post("/local/api/people", { name })).status).toBe(400);
  });
});

test("the page, its modules and its libraries are served whole, with nothing inline, to those with the token", async () => {
  const html = await (await page.fetch("/")).text();
  const paths = [...html.matchAll(/(?:src|href)="(\/local\/[^"]+)"/g)].map((match) => match[1] ?? "");
  expect(paths.length).toBeGreaterThan(4);
  for (const path of [
    ...paths,
    "/local/vendor/marked.js",
    "/local/vendor/dompurify.js",
    "/local/vendor/highlight.js",
    "/local/vendor/diff-lines.js",
  ]) {
    expect((await page.fetch(path)).status).toBe(200);
    expect((await fetch(page.url + path)).status).toBe(401);
  }
  expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\son\w+=|style="/);
  expect((await page.fetch("/local/vendor/package.json")).status).toBe(404);
  expect((await page.fetch("/local/page/../routes.ts")).status).toBe(404);
  expect((await page.fetch("/local/page/%2e%2e/routes.ts")).status).toBe(404);
  expect((await page.fetch("/local/page/..%2froutes.ts")).status).toBe(404);
});

describe("live updates", () => {
  interface Update {
    id: string;
    event: string;
    message?: StoredMessage;
  }

  /** Reads the stream until `isEnough`; then cuts the connection. */
  async function listen(query: string, isEnough: (updates: Update[]) => boolean, headers = {}): Promise<Update[]> {
    const cut = new AbortController();
    const response = await page.fetch(`/local/api/events?${query}`, { headers, signal: cut.signal });
    const updates: Update[] = [];
    let text = "";
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      const parts = text.split("\n\n");
      text = parts.pop() ?? "";
      updates.push(...parts.map(updateOf));
      if (isEnough(updates)) break;
    }
    cut.abort();
    return updates;
  }

  function updateOf(part: string): Update {
    const fields = Object.fromEntries(
      part.split("\n").map((line) => [line.split(": ", 1)[0], line.slice(line.indexOf(": ") + 2)]),
    );
    const { id = "", event = "", data = "" } = fields;
    return { id, event, ...(event === "message" ? { message: JSON.parse(data) as StoredMessage } : {}) };
  }

  const texts = (updates: Update[]) => updates.flatMap((update) => update.message?.text ?? []);

  test("what is said and streamed comes as it happens", async () => {
    const said = listen("person=ben&since=0", (updates) => texts(updates).includes("Whole."));
    await say({ text: "@remora hello" });
    const reply = page.platform.reply(targetOf(heard[0] as InboundMessage), createPosts());
    await reply.write("Ha");
    await vi.waitFor(async () =>
      expect(JSON.stringify(await page.messages(`person=ben&thread=${heard[0]?.id}`))).toContain("Ha"),
    );
    await reply.finish("Whole.", []);
    const updates = await said;
    expect(updates[0]?.event).toBe("hello");
    expect(texts(updates)).toContain("@remora hello");
    expect(updates.filter((update) => update.message?.text === "Whole.").at(-1)?.message?.state).toBe("done");
    const ids = updates.flatMap((update) => (update.id === "" ? [] : Number(update.id)));
    expect(ids).toEqual(ids.toSorted((one, other) => one - other));
  });

  test("after a cut it goes on after the last event, and what changed meanwhile comes once, as it is now", async () => {
    await say({ text: "before" });
    const [last] = (await listen("person=ann&since=0", (updates) => texts(updates).includes("before"))).slice(-1);
    const { message } = await say({ text: "@remora while away" });
    const reply = page.platform.reply(targetOf(heard[1] as InboundMessage), createPosts());
    await reply.write("par");
    await reply.write("partial");
    await reply.finish("final", []);
    const isEnough = (updates: Update[]) => texts(updates).includes("final") && texts(updates).includes(message.text);
    const updates = await listen("person=ann&since=0", isEnough, { "last-event-id": last?.id ?? "" });
    expect(texts(updates).toSorted()).toEqual(["@remora while away", "final"]);
  });

  test("a stream goes on over a restart of the server", async () => {
    await say({ text: "before" });
    const { revision } = await state("ann");
    await page.restart();
    await page.platform.connect(handlers, new AbortController().signal);
    await say({ text: "after" });
    expect(texts(await listen(`person=ann&since=${revision}`, (updates) => texts(updates).length > 0))).toEqual([
      "after",
    ]);
  });

  test("nobody hears another's DM", async () => {
    const heardByBen = listen("person=ben&since=0", (updates) => texts(updates).includes("open"));
    await say({ text: "secret", channel: undefined, dm: true });
    await say({ text: "open" });
    expect(texts(await heardByBen)).toEqual(["open"]);
  });

  test("one that is too far behind, or of another chat, is told to load anew", async () => {
    for (let index = 0; index <= 501; index++) await say({ text: `${index}` });
    const isReset = (updates: Update[]) => updates.some((update) => update.event === "reset");
    expect((await listen("person=ann&since=0", isReset)).at(-1)?.event).toBe("reset");
    expect((await listen("person=ann&since=999999", isReset)).at(-1)?.event).toBe("reset");
  });

  test("it needs the token", async () => {
    expect((await fetch(`${page.url}/local/api/events?person=ann`)).status).toBe(401);
    const wrong = { authorization: `Bearer ${token}x` };
    expect((await fetch(`${page.url}/local/api/events?person=ann`, { headers: wrong })).status).toBe(403);
  });
});
