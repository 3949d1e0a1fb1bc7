/** Files of messages on their way into a real working folder, from streams that behave and that don't. */
import { createHash } from "node:crypto";
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { messageFolder } from "../../src/files/safe-names.ts";
import { createTurnFiles, type TurnFilesOptions } from "../../src/files/turn-files.ts";
import { RemoraError } from "../../src/lib/errors.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { FileInspector } from "../../src/ports/file-inspector.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { Attachment } from "../../src/ports/message.ts";
import { payerOfMessage } from "../../src/ports/usage.ts";
import { createFileOrigins } from "../../src/sandbox/draft/file-origins.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { inboundMessage } from "../doubles/records.ts";

type Opened = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
type Open = (attachment: Attachment, signal: AbortSignal) => Promise<Opened> | Opened;

const [m1, m2, m3, m4] = ["m1", "m2", "m3", "m4"].map((id) => messageFolder({ platform: "local", id }));
const megabyte = 1024 * 1024;
const never = new AbortController().signal;
let folder: string;
let ledger: Ledger;
let opened: number;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "turn-files-")));
  ledger = createSqliteLedger({ path: ":memory:" });
  opened = 0;
});
afterEach(async () => {
  await ledger.close();
  await rm(folder, { recursive: true, force: true });
});

const textInspector: FileInspector = {
  async inspect({ path }) {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await readFile(path));
    return { mimeType: "text/plain", summary: `text, ${text.length} characters`, text };
  },
};

function filesFrom(open: Open, options: Partial<TurnFilesOptions> = {}) {
  return createTurnFiles({
    ...{ ledger, fileOrigins: createFileOrigins(ledger), inspector: textInspector, filesRoot: folder, log: silentLog },
    drafts: { hides: async () => false },
    platform: () => ({
      async openFile(attachment, signal) {
        opened += 1;
        const stream = await open(attachment, signal);
        return (async function* () {
          yield* stream;
        })();
      },
    }),
    limits: { maxBytes: megabyte, inboxBytes: 3 * megabyte },
    ...options,
  });
}

const described = (name: string, bytes: number): Attachment => ({
  ...{ name, mimeType: "text/plain", bytes },
  source: { file: name },
});

async function fetched(
  open: Open,
  attachments: Attachment[],
  options: Partial<TurnFilesOptions> & {
    id?: string;
    index?: number;
    keepsChanged?: boolean;
    signal?: AbortSignal;
  } = {},
): Promise<Attachment> {
  const { id = "m1", index = 0, keepsChanged = false, signal = never, ...rest } = options;
  const message = inboundMessage({ id, platform: "local", attachments });
  return await filesFrom(open, rest).fetch(
    { message, index, workingFolder: folder, payer: payerOfMessage(message), keepsChanged },
    signal,
  );
}

const text = (content: string) => [Buffer.from(content)];
const inboxed = async () =>
  (await readdir(join(folder, "inbox"), { recursive: true }).catch(() => []))
    .filter((path) => path.includes("/"))
    .sort();

describe("a file that arrives", () => {
  test("that an earlier version has saved stays where it is, and is not fetched again", async () => {
    const earlier = "inbox/local-5c52cd79-c4ca-4ff8-a2e6-d9297efd22fe";
    const id = createHash("sha256").update(folder).digest("hex");
    const files = [{ name: "notes.txt", bytes: 5, isComplete: true }];
    const body = { root: folder, messages: [{ folder: earlier, files }] };
    await ledger.create("inbox", id, { state: "kept", body, group: id });
    await mkdir(join(folder, earlier), { recursive: true });
    await writeFile(join(folder, earlier, "notes.txt"), "hello");
    const again = { id: earlier.slice("inbox/local-".length) };
    const file = await fetched(() => text("other"), [described("notes.txt", 5), described("more.txt", 5)], again);
    expect([file.path, file.text, opened]).toEqual([`${earlier}/notes.txt`, "hello", 0]);
    const more = await fetched(() => text("other"), [described("notes.txt", 5), described("more.txt", 5)], {
      ...again,
      index: 1,
    });
    expect(more.path).toBe(`${earlier}/more.txt`);
  });

  test("is in the message's folder, complete, and described without a source", async () => {
    const file = await fetched(() => text("hello"), [described("notes.txt", 5)]);
    expect(file).toEqual({
      ...{ name: "notes.txt", mimeType: "text/plain", bytes: 5 },
      path: `inbox/${m1}/notes.txt`,
      text: "hello",
    });
    expect(await readFile(join(folder, file.path ?? ""), "utf8")).toBe("hello");
    expect(await inboxed()).toEqual([`${m1}/notes.txt`]);
  });

  test("comes in pieces, and never as a whole", async () => {
    let produced = 0;
    let largestLead = 0;
    const chunk = Buffer.alloc(64 * 1024, 97);
    const path = join(folder, `inbox/${m1}`);
    const file = await fetched(
      async function* () {
        for (let count = 0; count < 320; count++) {
          yield chunk;
          produced += chunk.length;
          const [temporary = ""] = (await readdir(path)).filter((name) => name.startsWith("."));
          const { size: written } = await stat(join(path, temporary));
          largestLead = Math.max(largestLead, produced - written);
        }
      } as unknown as Open,
      [described("big.txt", 320 * chunk.length)],
      { limits: { maxBytes: 20 * megabyte, inboxBytes: 40 * megabyte } },
    );
    expect(file.bytes).toBe(20 * megabyte);
    expect(largestLead).toBe(0);
    // Too long for the prompt.
    expect(file.text).toBeUndefined();
    expect(file.summary).toBe(`text, ${20 * megabyte} characters`);
  });

  test("is not downloaded again if an earlier run of the turn has done it", async () => {
    await fetched(() => text("hello"), [described("notes.txt", 5)]);
    expect(await fetched(() => text("HELLO"), [described("notes.txt", 5)])).toMatchObject({ text: "hello" });
    expect(opened).toBe(1);
    await writeFile(join(folder, `inbox/${m1}/notes.txt`), "changed by a person");
    const again = { problem: expect.stringContaining(`inbox/${m1}/notes.txt, and has been changed since`) };
    const kept = await fetched(() => text("HELLO"), [described("notes.txt", 5)], { keepsChanged: true });
    expect(kept).toMatchObject(again);
    expect(await readFile(join(folder, `inbox/${m1}/notes.txt`), "utf8")).toBe("changed by a person");
    expect(await fetched(() => text("HELLO"), [described("notes.txt", 5)])).toMatchObject({ text: "HELLO" });
  });

  test("of two files with one name, both are there", async () => {
    const both = [described("a.txt", 3), described("a.txt", 3)];
    const open: Open = ({ bytes }) => [Buffer.alloc(bytes, 49 + opened)];
    await fetched(open, both, { index: 0 });
    await fetched(open, both, { index: 1 });
    expect(await inboxed()).toEqual([`${m1}/a-2.txt`, `${m1}/a.txt`]);
  });

  test("an audio file becomes text, and a failure of that a sentence", async () => {
    const voice = { ...described("voice.ogg", 5), mimeType: "audio/ogg" };
    const inspector: FileInspector = { inspect: async () => ({ mimeType: "audio/ogg", summary: "audio, 5 B" }) };
    const heard = await fetched(() => text("sound"), [voice], {
      inspector,
      transcribe: async ({ name, path }) => ({ text: `${name}: ${await readFile(path, "utf8")}` }),
    });
    expect(heard).toMatchObject({
      text: "[audio file, transcribed]\nvoice.ogg: sound",
      path: `inbox/${m1}/voice.ogg`,
    });
    const deaf = await fetched(() => text("sound"), [voice], {
      inspector,
      transcribe: async () => ({ problem: "No." }),
    });
    expect(deaf).toMatchObject({ problem: "No.", summary: "audio, 5 B" });
  });

  test("a voice note becomes nothing but its text, whatever type its file has", async () => {
    const note = { ...described("clip.webm", 5), mimeType: "video/webm", voice: { seconds: 3 } };
    const inspector: FileInspector = { inspect: async () => ({ mimeType: "video/webm", summary: "WebM film, 5 B" }) };
    const heard = await fetched(() => text("sound"), [note], { inspector, transcribe: async () => ({ text: "Hi." }) });
    expect(heard).toMatchObject({ text: "Hi.", voice: { seconds: 3 } });
    expect(heard.summary).toBeUndefined();
  });

  test("without transcription, a recording has a sentence that says what to set", async () => {
    const inspector: FileInspector = { inspect: async () => ({ mimeType: "audio/ogg", summary: "audio, 5 B" }) };
    const file = { ...described("voice.ogg", 5), mimeType: "audio/ogg" };
    for (const each of [file, { ...file, voice: { seconds: 3 } }]) {
      const deaf = await fetched(() => text("sound"), [each], { inspector });
      expect(deaf.problem).toContain("An operator must set `transcription` in the configuration.");
    }
  });

  test("what the inspector finds out is passed on: type, picture, problem", async () => {
    const look = { mimeType: "image/png", summary: "PNG", image: { mimeType: "image/jpeg", base64: "AAAA" } };
    const picture = await fetched(() => text("hello"), [described("a", 5)], {
      inspector: { inspect: async () => look },
    });
    expect(picture).toMatchObject({ mimeType: "image/png", imageBase64: "AAAA", imageMimeType: "image/jpeg" });
    const broken = { mimeType: "application/pdf", summary: "PDF", problem: "It is damaged." };
    const pdf = await fetched(() => text("hello"), [described("a", 5)], { inspector: { inspect: async () => broken } });
    expect(pdf).toMatchObject({ path: `inbox/${m1}/a`, problem: "It is damaged." });
  });
});

describe("limits", () => {
  test("a file above the limit is never opened, and the sentence names the limit", async () => {
    const file = await fetched(() => text("x"), [described("big.bin", megabyte + 1)]);
    expect(file.problem).toContain("at most 1.0 MiB (setting files.maxMegabytes)");
    expect(file).not.toHaveProperty("source");
    expect(opened).toBe(0);
  });

  test("the limit holds while the file arrives, whatever size was announced", async () => {
    let given = 0;
    async function* endless() {
      for (;;) {
        given += 64 * 1024;
        yield Buffer.alloc(64 * 1024);
      }
    }
    const unknown = await fetched(endless, [described("a.bin", 0)]);
    expect(unknown.problem).toContain("more than 1.0 MiB");
    expect(given).toBeLessThanOrEqual(megabyte + 128 * 1024);
    given = 0;
    const lie = await fetched(endless, [described("b.bin", 10)]);
    expect(lie.problem).toContain("of 10 bytes arrived");
    expect(given).toBeLessThanOrEqual(4 * 64 * 1024);
    expect(await inboxed()).toEqual([]);
  });

  test("of more than 20 files, the others get a sentence", async () => {
    const many = Array.from({ length: 21 }, (_, index) => described(`${index}.txt`, 1));
    expect(await fetched(() => text("x"), many, { index: 19 })).toHaveProperty("path");
    expect((await fetched(() => text("x"), many, { index: 20 })).problem).toContain("at most 20 files of one message");
  });

  test("the oldest messages' files make room, but not what somebody has changed or added", async () => {
    const whole = [described("a.bin", megabyte)];
    const open: Open = () => [Buffer.alloc(megabyte, 97)];
    for (const id of ["m1", "m2", "m3"]) await fetched(open, whole, { id });
    await writeFile(join(folder, `inbox/${m1}/notes.md`), "mine");
    await fetched(open, whole, { id: "m4" });
    expect(await inboxed()).toEqual([`${m1}/notes.md`, `${m2}/a.bin`, `${m3}/a.bin`, `${m4}/a.bin`].sort());
    await writeFile(join(folder, `inbox/${m2}/a.bin`), "somebody's work");
    await fetched(open, whole, { id: "m5" });
    expect(await readFile(join(folder, `inbox/${m2}/a.bin`), "utf8")).toBe("somebody's work");
    await fetched(open, whole, { id: "m6" });
    expect(await inboxed()).not.toContain(`${m3}/a.bin`);
  });

  test("a changed file of the same size stays, too", async () => {
    const whole = [described("a.bin", megabyte)];
    const open: Open = () => [Buffer.alloc(megabyte, 97)];
    for (const id of ["m1", "m2", "m3"]) await fetched(open, whole, { id });
    await writeFile(join(folder, `inbox/${m1}/a.bin`), Buffer.alloc(megabyte, 98));
    await fetched(open, whole, { id: "m4" });
    expect((await readFile(join(folder, `inbox/${m1}/a.bin`)))[0]).toBe(98);
  });

  test("if the message already fills the prompt, the model gets a first look only", async () => {
    const full = { name: "b", mimeType: "image/png", bytes: 5, imageBase64: "A".repeat(4 * megabyte) };
    const file = await fetched(() => text("hello"), [described("a.txt", 5), full]);
    expect(file).toMatchObject({ path: `inbox/${m1}/a.txt`, summary: "text, 5 characters" });
    expect(file).not.toHaveProperty("text");
  });

  test("files of one message that exceed the inbox together get a sentence, and the others stay", async () => {
    const four = Array.from({ length: 4 }, (_, index) => described(`${index}.bin`, megabyte));
    const open: Open = () => [Buffer.alloc(megabyte, 97)];
    for (const index of [0, 1, 2]) await fetched(open, four, { index });
    expect((await fetched(open, four, { index: 3 })).problem).toContain("(setting files.inboxMegabytes)");
    expect(await inboxed()).toHaveLength(3);
  });
});

describe("failures", () => {
  async function* cutAfter(content: string): AsyncGenerator<Uint8Array> {
    yield Buffer.from(content);
    throw new TypeError("terminated");
  }

  test("a broken download is tried again once", async () => {
    const file = await fetched(() => (opened === 1 ? cutAfter("hel") : text("hello")), [described("a.txt", 5)]);
    expect(file).toMatchObject({ text: "hello" });
    expect(opened).toBe(2);
  });

  test("after two broken downloads there is a sentence, and nothing half", async () => {
    const file = await fetched(() => cutAfter("hel"), [described("a.txt", 5)]);
    expect(file.problem).toBe("The download failed twice (terminated). Send the file again.");
    expect(opened).toBe(2);
    expect(await inboxed()).toEqual([]);
    const early = await fetched(() => text("hel"), [described("a.txt", 5)]);
    expect(early.problem).toContain("3 of 5 bytes arrived");
  });

  test("a service that asks to wait is tried again after that time", async () => {
    const busy = { code: "x", place: "platform slack", message: "HTTP 429", isRetryable: true, retryAfterMs: 60 };
    const timer = vi.spyOn(globalThis, "setTimeout");
    const open: Open = () => (opened === 1 ? Promise.reject(new RemoraError(busy)) : text("hello"));
    expect(await fetched(open, [described("a.txt", 5)])).toMatchObject({ text: "hello" });
    expect(timer).toHaveBeenCalledWith(expect.any(Function), 60);
  });

  test("a refusal is final, and its sentence is passed on", async () => {
    const refusal = { code: "platform.file-deleted", place: "platform slack", message: "the file was deleted." };
    const file = await fetched(() => Promise.reject(new RemoraError(refusal)), [described("a.txt", 5)]);
    expect(file.problem).toBe("The file was deleted.");
    expect(opened).toBe(1);
  });

  test("a download that takes too long ends with a sentence", async () => {
    const file = await fetched(
      (_, signal) => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
      [described("a.txt", 5)],
      { limits: { maxBytes: megabyte, inboxBytes: megabyte, downloadMs: 20 } },
    );
    expect(file.problem).toContain("took longer than");
    // On a busy machine the time may be over before the download begins. It never begins again.
    expect(opened).toBeLessThanOrEqual(1);
  });

  test("a stop ends the download, and the file can be fetched later", async () => {
    const stop = new AbortController();
    const stopped = fetched(
      async function* () {
        yield Buffer.from("hel");
        stop.abort(new Error("stopped"));
        yield Buffer.from("lo");
      } as unknown as Open,
      [described("a.txt", 5)],
      { signal: stop.signal },
    );
    await expect(stopped).rejects.toThrow("stopped");
    expect(await inboxed()).toEqual([]);
    expect(await fetched(() => text("hello"), [described("a.txt", 5)])).toMatchObject({ text: "hello" });
  });

  test("what a crash left is removed when the file is fetched again", async () => {
    await mkdir(join(folder, `inbox/${m1}`), { recursive: true });
    await writeFile(join(folder, `inbox/${m1}/.fetching-0-abc`), "half");
    await writeFile(join(folder, `inbox/${m1}/.fetching-1-abc`), "of another file");
    await fetched(() => text("hello"), [described("a.txt", 5)]);
    expect(await inboxed()).toEqual([`${m1}/.fetching-1-abc`, `${m1}/a.txt`]);
  });

  test("a working folder that is missing gets a sentence; one in the workspace is created", async () => {
    const file = await fetched(() => text("hello"), [described("a.txt", 5)], { filesRoot: join(folder, "other") });
    expect(file.path).toBeDefined();
    const message = inboundMessage({ platform: "local", attachments: [described("a.txt", 5)] });
    const payer = payerOfMessage(message);
    const request = (name: string) => ({ message, index: 0, workingFolder: join(folder, name), payer });
    expect(await filesFrom(() => text("hello")).fetch(request("new"), never)).toHaveProperty("path");
    const elsewhere = filesFrom(() => text("hello"), { filesRoot: join(folder, "elsewhere") });
    expect((await elsewhere.fetch(request("missing"), never)).problem).toContain("does not exist");
  });

  test.skipIf(process.getuid?.() === 0)("a folder that denies writing gets a sentence", async () => {
    await chmod(folder, 0o500);
    const file = await fetched(() => text("hello"), [described("a.txt", 5)]);
    await chmod(folder, 0o700);
    expect(file.problem).toContain("may not write to the working folder");
  });
});

describe("links that commands leave", () => {
  let outside: string;
  beforeEach(async () => {
    outside = await mkdtemp(join(tmpdir(), "outside-"));
  });
  afterEach(() => rm(outside, { recursive: true, force: true }));

  test.each([
    ["inbox", "outside"],
    ["inbox", "inside"],
    [`inbox/${m1}`, "outside"],
    [`inbox/${m1}`, "inside"],
  ])("%s as a link that leads %s is refused, and nothing is written there", async (path, where) => {
    const target = where === "outside" ? outside : join(folder, "src");
    await mkdir(target, { recursive: true });
    await mkdir(join(folder, path, ".."), { recursive: true });
    await symlink(target, join(folder, path));
    const file = await fetched(() => text("hello"), [described("a.txt", 5)]);
    expect(file.problem).toMatch(/couldn't save the file/);
    expect((await readdir(target, { recursive: true })).filter((name) => name.endsWith("a.txt"))).toEqual([]);
  });

  test.each([`inbox/${m1}`, "inbox"])(
    "%s as a link to moved files does not make room by removing them",
    async (link) => {
      const whole = [described("a.bin", megabyte)];
      const open: Open = () => [Buffer.alloc(megabyte, 97)];
      for (const id of ["m1", "m2", "m3"]) await fetched(open, whole, { id });
      await rename(join(folder, link), join(folder, "moved"));
      await symlink("../moved".slice(link === "inbox" ? 3 : 0), join(folder, link));
      await fetched(open, whole, { id: "m4" });
      expect(
        (await readdir(join(folder, "moved"), { recursive: true })).filter((name) => name.endsWith("a.bin")),
      ).toHaveLength(link === "inbox" ? 3 : 1);
    },
  );

  test("a link in the file's place is replaced, and its target stays as it is", async () => {
    await writeFile(join(outside, "target"), "untouched");
    await mkdir(join(folder, `inbox/${m1}`), { recursive: true });
    await symlink(join(outside, "target"), join(folder, `inbox/${m1}/a.txt`));
    expect(await fetched(() => text("hello"), [described("a.txt", 5)])).toMatchObject({ text: "hello" });
    expect(await readFile(join(outside, "target"), "utf8")).toBe("untouched");
  });
});

test("reading the file later, by name or as part of the folder, has the attachment's origin", async () => {
  await fetched(() => text("hello"), [described("report.txt", 5)]);
  const origins = createFileOrigins(ledger);
  const seen = { root: folder, seen: folder };
  const origin = { kind: "attachment", name: "report.txt", via: `file inbox/${m1}` };
  expect(await origins.read(seen, `inbox/${m1}/report.txt`)).toEqual([origin]);
  expect(await origins.read(seen, undefined)).toEqual([origin]);
  expect(await origins.read(seen, "own.md")).toEqual([]);
});

test("the mark is written before the file has its name, so a crash never leaves a trusted file", async () => {
  const marked: string[] = [];
  const origins = createFileOrigins(ledger);
  await fetched(() => text("hello"), [described("a.txt", 5)], {
    fileOrigins: {
      async markFolder(root, path, all) {
        marked.push(...(await readdir(join(root, path))).map((name) => name.replace(/[0-9a-f]{12}$/, "…")));
        await origins.markFolder(root, path, all);
      },
    },
  });
  expect(marked).toEqual([".fetching-0-…"]);
});

test("a picture of 2 MB is byte for byte what was sent", async () => {
  const content = Buffer.from(Array.from({ length: 2 * megabyte }, (_, index) => (index * 7919) % 251));
  const pieces = Array.from({ length: 33 }, (_, index) => content.subarray(index * 65_000, (index + 1) * 65_000));
  const look = { mimeType: "image/png", summary: "PNG" };
  await fetched(() => pieces, [described("a.png", content.length)], {
    inspector: { inspect: async () => look },
    limits: { maxBytes: 3 * megabyte, inboxBytes: 3 * megabyte },
  });
  const saved = await readFile(join(folder, `inbox/${m1}/a.png`));
  expect(createHash("sha256").update(saved).digest("hex")).toBe(createHash("sha256").update(content).digest("hex"));
});
