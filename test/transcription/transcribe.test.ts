/** Speech to text with the real client library, against a server with OpenAI's checks. */

import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { RemoraEvent } from "../../src/ports/events.ts";
import { createTranscription, type TranscriptionOptions } from "../../src/transcription/transcribe.ts";
import { anyCharacter } from "../doubles/any-character.ts";
import { freePort } from "../doubles/free-port.ts";
import { speech, startTranscriptionServer, type TranscriptionServer } from "../doubles/transcription-server.ts";
import { listening } from "../sandbox/egress/servers.ts";

const never = new AbortController().signal;
let server: TranscriptionServer;
let folder: string;
let events: RemoraEvent[];
beforeEach(async () => {
  [server, folder] = await Promise.all([startTranscriptionServer(), mkdtemp(join(tmpdir(), "remora-speech-"))]);
  events = [];
});
afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

function open(more: Partial<TranscriptionOptions> = {}) {
  const bus = createEvents();
  bus.listen((event) => events.push(event));
  const { url: baseUrl, key: apiKey, model } = server;
  return createTranscription({ baseUrl, apiKey, model, events: bus, log: silentLog, ...more });
}

async function fileOf(content: Uint8Array, name = "voice-message.ogg", mimeType = "audio/ogg") {
  const path = join(folder, "saved");
  await writeFile(path, content);
  return { path, name, mimeType };
}

async function hear(words: string, more: Partial<TranscriptionOptions> = {}, name?: string) {
  const { isHeard, seconds: _seconds, ...said } = await open(more)(await fileOf(speech(words), name), never);
  // What was heard must be paid for, even if it was silence.
  expect(isHeard).toBe("text" in said || said.problem.includes("can't hear any words"));
  return said;
}

test("what was said is the text, and the seconds are counted", async () => {
  expect(await hear(" Draw me the sales of May. ")).toEqual({ text: "Draw me the sales of May." });
  const file = { name: "voice-message.ogg", type: "audio/ogg", size: expect.any(Number) };
  expect(server.heard).toEqual([{ file, model: "whisper-test", authorization: "Bearer whisper-key" }]);
  expect(events).toMatchObject([{ name: "file.transcribed", fields: { model: "whisper-test", seconds: 42 } }]);
});

test("the language of the settings goes to the server", async () => {
  await hear("hallo", { language: "de" });
  expect(server.heard).toMatchObject([{ language: "de" }]);
});

test("any name of a file arrives, without its folders", async () => {
  const names = fc.string({ unit: anyCharacter, minLength: 1, maxLength: 60 }).map((name) => name.toWellFormed());
  await fc.assert(
    fc.asyncProperty(names, async (name) => {
      expect(await hear("hello", {}, `${name}.ogg`)).toEqual({ text: "hello" });
    }),
    { numRuns: 40 },
  );
});

test.each([429, 500, 503, 408])("a %i is asked again", async (status) => {
  server.failNext(status, status);
  expect(await hear("hello")).toEqual({ text: "hello" });
});

test("a key of another service in the environment is not sent to a server without keys", async () => {
  const { env } = process;
  process.env = { ...env, OPENAI_API_KEY: "sk-not-for-you", OPENAI_ORG_ID: "org-1" };
  try {
    const options = { ...server, baseUrl: server.url, events: createEvents(), log: silentLog };
    const transcribe = createTranscription({
      baseUrl: options.baseUrl,
      model: server.model,
      events: options.events,
      log: silentLog,
    });
    expect(await transcribe(await fileOf(speech("hello")), never)).toMatchObject({
      problem: expect.stringContaining("refused the key"),
    });
  } finally {
    process.env = env;
  }
});

describe("a failure is a sentence that says what to do", () => {
  const where = () => `The transcription service at ${new URL(server.url).host}`;

  test.each([
    [401, "refused the key. An operator must correct transcription.apiKey."],
    [403, "refused the key. An operator must correct transcription.apiKey."],
    [
      404,
      "has no transcription, or no model whisper-test. An operator must check transcription.baseUrl and transcription.model.",
    ],
    [400, "can't read the recording. Send it as MP3, M4A, WAV, OGG or WebM, or write."],
    [429, "has too many requests, or no credit left. Send the recording again later, or write."],
    [500, "failed. Send the recording again later, or write."],
  ])("%i", async (status, sentence) => {
    server.failNext(status, status, status);
    expect(await hear("hello")).toEqual({ problem: `${where()} ${sentence}` });
    expect(events).toEqual([]);
  });

  test.each([
    [402, "", "unknown"],
    [429, "project_spend_limit_exceeded", "OpenAI"],
    [429, "credit_balance_exhausted", "OpenAI"],
    [400, "blocked_api_access", "Groq"],
  ])("%i %s of %s: the account may not spend", async (status, code) => {
    const refused = { status, body: JSON.stringify({ error: { message: "no", type: "x", param: null, code } }) };
    server.failNext(refused, refused, refused);
    expect(await hear("hello")).toEqual({
      problem: `The account of the transcription service at ${new URL(server.url).host} may not spend more. An operator must add credit there, or raise its limit.`,
    });
  });

  test("413", async () => {
    server.failNext(413);
    expect(await hear("hello")).toEqual({
      problem: expect.stringMatching(
        /^The recording has \d+ B, too much for the transcription service at .*\. Send a shorter one\.$/,
      ),
    });
  });

  test("a file above the limit is not sent", async () => {
    const file = await fileOf(speech("hello"));
    await truncate(file.path, 25 * 1024 * 1024 + 1);
    expect(await open()(file, never)).toMatchObject({
      problem: "The recording has more than 25.0 MiB, the limit for transcription. Send a shorter one.",
    });
    expect(server.heard).toEqual([]);
  });

  test("a file that is gone", async () => {
    const file = await fileOf(speech("hello"));
    await rm(file.path);
    expect(await open()(file, never)).toMatchObject({
      problem: "The recording was removed before I could listen to it. Send it again.",
    });
  });

  test("nothing was said", async () => {
    expect(await hear("   ")).toEqual({ problem: "I can't hear any words in the recording." });
  });

  test.each(['{"result":"x"}', "[]", "null", '{"text":7}', "not json", "<html></html>"])(
    "an answer that is no transcription: %s",
    async (body) => {
      server.failNext({ body });
      expect(await hear("hello")).toEqual({
        problem: expect.stringContaining(`${where()} did not answer as expected`),
      });
    },
  );

  test("a server that is not there", async () => {
    const port = await freePort();
    expect(await hear("hello", { baseUrl: `http://127.0.0.1:${port}/v1` })).toEqual({
      problem: expect.stringContaining("can't be reached"),
    });
  });

  test("a server that does not answer in time", async () => {
    server.failNext("silence", "silence", "silence");
    expect(await hear("hello", { timeoutMs: 50 })).toEqual({ problem: expect.stringContaining("took too long") });
  });
});

test("an abort rejects, whatever the server does", async () => {
  server.failNext("silence");
  const controller = new AbortController();
  const heard = open()(await fileOf(speech("hello")), controller.signal);
  setImmediate(() => controller.abort());
  await expect(heard).rejects.toThrow();
});

test("a long transcript is cut", async () => {
  const { text } = (await hear("word ".repeat(20_000))) as { text: string };
  expect(text.length).toBeLessThanOrEqual(60_001);
});

test("a recording goes nowhere by a redirect, is sent once, and people read which setting to correct", async () => {
  const seen: string[] = [];
  const there = await listening(
    createServer((_request, response) => {
      seen.push("there");
      response.end("{}");
    }),
  );
  const here = await listening(
    createServer((request, response) => {
      seen.push("here");
      request.resume().on("end", () => response.writeHead(307, { location: `http://127.0.0.1:${there.port}/` }).end());
    }),
  );
  onTestFinished(() => [there, here].forEach((each) => void each.close()));
  expect(await hear("secret words", { baseUrl: `http://127.0.0.1:${here.port}/v1` })).toEqual({
    problem: `The transcription service at 127.0.0.1:${here.port} sends recordings on to another address, which gets none unless it is named. An operator must set transcription.baseUrl to it.`,
  });
  expect(seen).toEqual(["here"]);
});
