/** Files are gathered before the model is asked, and once. */
import { afterEach, expect, test, vi } from "vitest";
import { runTurn } from "../../src/engine/turn/run-turn.ts";
import { TurnAbort } from "../../src/lib/abort.ts";
import type { Attachment, InboundMessage } from "../../src/ports/message.ts";
import type { TurnRecord } from "../../src/ports/turn.ts";
import type { WantedFile } from "../../src/ports/turn-files.ts";
import { inboundMessage, toolSpec, turnRecord } from "../doubles/records.ts";
import { calls, says } from "../doubles/scripted-provider.ts";
import { createStageDoubles, keepTurn, type StageDoubleOptions, type StageDoubles } from "../doubles/turn-deps.ts";

const never = new AbortController().signal;
let doubles: StageDoubles;
afterEach(() => doubles.close());

const waiting = (name: string, bytes = 5): Attachment => ({
  ...{ name, mimeType: "text/plain", bytes },
  source: { id: name },
});
const withFiles = (...attachments: Attachment[]): InboundMessage => inboundMessage({ attachments });

/** Gives every file the text of its name. */
async function fetchText({ message, index }: WantedFile): Promise<Attachment> {
  const { source: _source, ...file } = message.attachments[index] as Attachment;
  return { ...file, path: `inbox/${message.id}/${file.name}`, text: `text of ${file.name}` };
}

async function begin(options: StageDoubleOptions, turn: TurnRecord): Promise<TurnRecord> {
  doubles = createStageDoubles(options);
  return await keepTurn(doubles.ledger, turn);
}

const stored = async () =>
  (await doubles.ledger.get("turn", "t1"))?.body.messages.flatMap(({ attachments }) => attachments);

test("every file of the turn's messages is in the record before the model is asked", async () => {
  const seen: (Attachment[] | undefined)[] = [];
  const turn = await begin(
    { steps: [says("Read.")], files: { fetch: fetchText } },
    turnRecord({ messages: [withFiles(waiting("a.txt"), waiting("b.txt")), withFiles(waiting("c.txt"))] }),
  );
  const { stream } = doubles.provider;
  doubles.stages.provider = {
    ...doubles.provider,
    async *stream(request, signal) {
      seen.push(await stored());
      yield* stream(request, signal);
    },
  };
  expect(await runTurn(turn, doubles.stages, never)).toBe("done");
  expect(seen[0]?.map(({ path, text, source }) => [path, text, source])).toEqual([
    ["inbox/m1/a.txt", "text of a.txt", undefined],
    ["inbox/m1/b.txt", "text of b.txt", undefined],
    ["inbox/m1/c.txt", "text of c.txt", undefined],
  ]);
});

test("a message that steers the turn has its files fetched, and no file is fetched twice", async () => {
  const fetched: string[] = [];
  const later = inboundMessage({ id: "m2", text: "and this", attachments: [waiting("later.txt")] });
  let said = [[], [later]];
  const turn = await begin(
    {
      steps: [calls({ name: "look" }), says("Read.")],
      tools: [toolSpec("look", { isReadOnly: true })],
      takeSteering: async () => {
        const [next = [], ...rest] = said;
        said = rest;
        return next;
      },
      files: {
        async fetch(wanted) {
          fetched.push(wanted.message.attachments[wanted.index]?.name ?? "");
          return await fetchText(wanted);
        },
      },
    },
    turnRecord({ messages: [withFiles(waiting("a.txt"))] }),
  );
  expect(await runTurn(turn, doubles.stages, never)).toBe("done");
  expect(fetched).toEqual(["a.txt", "later.txt"]);
});

test("after a crash in between, only what is missing is fetched", async () => {
  const fetched: string[] = [];
  const names = ["1", "2", "3", "4"];
  const crash = new AbortController();
  const options: StageDoubleOptions = {
    steps: [says("Read.")],
    files: {
      async fetch(wanted, signal) {
        fetched.push(wanted.message.attachments[wanted.index]?.name ?? "");
        if (fetched.length === 4) crash.abort(new TurnAbort("shutdown"));
        signal.throwIfAborted();
        return await fetchText(wanted);
      },
    },
  };
  const turn = await begin(options, turnRecord({ messages: [withFiles(...names.map((name) => waiting(name)))] }));
  expect(await runTurn(turn, doubles.stages, crash.signal)).toBe("suspended");
  const record = (await doubles.ledger.get("turn", "t1"))?.body as TurnRecord;
  expect(record.messages[0]?.attachments.map(({ path }) => path !== undefined)).toEqual([true, true, true, false]);
  expect(await runTurn(record, doubles.stages, never)).toBe("done");
  expect(fetched).toEqual(["1", "2", "3", "4", "4"]);
});

test("people see which large file is read, and then that the model thinks", async () => {
  const isShown = (activity: string) => vi.waitFor(() => expect(doubles.reply.activities.at(-1)).toBe(activity));
  const turn = await begin(
    {
      steps: [says("Read.")],
      files: {
        async fetch(wanted) {
          await isShown("Reading report.pdf");
          return await fetchText(wanted);
        },
      },
    },
    turnRecord({ messages: [withFiles(waiting("report.pdf", 2 * 1024 * 1024))] }),
  );
  const { stream } = doubles.stages.provider;
  doubles.stages.provider.stream = async function* (...asked) {
    await isShown("Thinking");
    yield* stream(...asked);
  };
  await runTurn(turn, doubles.stages, never);
  expect(doubles.reply.activities).toEqual(["Reading report.pdf", "Thinking", ""]);
});

test("a stop while a file is fetched ends the turn", async () => {
  const stop = new AbortController();
  const turn = await begin(
    {
      steps: [],
      files: {
        fetch: (_, signal) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason));
            stop.abort(new TurnAbort("stopped"));
          }),
      },
    },
    turnRecord({ messages: [withFiles(waiting("a.txt"))] }),
  );
  expect(await runTurn(turn, doubles.stages, stop.signal)).toBe("stopped");
  expect(doubles.reply.segments.at(-1)).toBe("Stopped.");
});
