/** Voice notes in a turn: whose words they are, what is stored before the model is asked, and what people read. */
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { runTurn } from "../../src/engine/turn/run-turn.ts";
import { placeFile } from "../../src/engine/turn/voice.ts";
import { TurnAbort } from "../../src/lib/abort.ts";
import type { Attachment, InboundMessage } from "../../src/ports/message.ts";
import { transcriptionIsOff } from "../../src/ports/turn-files.ts";
import { originsOfTurn } from "../../src/ports/turn-origins.ts";
import { inboundMessage, turnRecord } from "../doubles/records.ts";
import { hangs, says } from "../doubles/scripted-provider.ts";
import { createStageDoubles, keepTurn, type StageDoubles } from "../doubles/turn-deps.ts";

const note = (more: Partial<Attachment> = {}): Attachment => ({
  ...{ name: "voice-message.ogg", mimeType: "audio/ogg", bytes: 5, voice: { seconds: 42.4 } },
  ...more,
});

function placed(file: Attachment, text = "", maxCharacters = 1_000): InboundMessage {
  const message = inboundMessage({ text, attachments: [note({ source: { id: "1" } })] });
  placeFile(message, 0, file, maxCharacters);
  return message;
}

describe("a transcript", () => {
  test("becomes text of the message, below what was written, and the file stays without it", () => {
    const path = "inbox/m1/voice-message.ogg";
    expect(placed(note({ text: "Hello.", path }))).toMatchObject({
      text: "[voice note, 0:42, transcribed]\nHello.",
      attachments: [note({ path })],
    });
    expect(placed(note({ text: "Hello." }), "Listen:").text).toBe("Listen:\n\n[voice note, 0:42, transcribed]\nHello.");
  });

  test.each([
    [0, "[voice note, transcribed]"],
    [0.4, "[voice note, transcribed]"],
    [59.6, "[voice note, 1:00, transcribed]"],
    [3_725, "[voice note, 62:05, transcribed]"],
  ])("of %d seconds has the mark %s", (seconds, mark) => {
    expect(placed(note({ text: "Hi.", voice: { seconds } })).text).toBe(`${mark}\nHi.`);
  });

  test("is the author's own words, and that of any other audio file is an attachment's", () => {
    const originsOf = (file: Attachment) => originsOfTurn(turnRecord({ messages: [placed(file)] }), []);
    expect(originsOf(note({ text: "Hi." }))).toMatchObject([{ kind: "person", name: "Ann" }]);
    const { voice: _voice, ...audio } = note({ text: "Hi." });
    expect(originsOf(audio)).toMatchObject([{ kind: "person" }, { kind: "attachment", name: "voice-message.ogg" }]);
  });

  test("never makes a message too long, and is never lost", () => {
    fc.assert(
      fc.property(fc.string(), fc.string({ minLength: 1 }), fc.nat({ max: 80 }), (written, spoken, max) => {
        const { text, attachments } = placed(note({ text: spoken }), written, max);
        if (text === written) expect(attachments[0]?.text).toBe(spoken);
        else {
          expect(text.length).toBeLessThanOrEqual(max);
          expect(text.endsWith(`transcribed]\n${spoken}`)).toBe(true);
          expect(attachments[0]?.text).toBeUndefined();
        }
      }),
    );
  });
});

describe("a turn", () => {
  let doubles: StageDoubles;
  afterEach(() => doubles.close());
  const turn = () =>
    turnRecord({ messages: [inboundMessage({ text: "", attachments: [note({ source: { id: "1" } })] })] });
  const never = new AbortController().signal;

  test("stores the transcript before the model is asked, and after a crash does not listen again", async () => {
    let heard = 0;
    const fetch = async () => {
      heard += 1;
      return note({ text: "What is new?" });
    };
    const stopped = new AbortController();
    doubles = createStageDoubles({ steps: [hangs(), says("Nothing.")], files: { fetch } });
    doubles.stages.events.listen(({ name }) => {
      if (name === "llm.request" && !stopped.signal.aborted)
        setImmediate(() => stopped.abort(new TurnAbort("shutdown")));
    });
    expect(await runTurn(await keepTurn(doubles.ledger, turn()), doubles.stages, stopped.signal)).toBe("suspended");
    const stored = (await doubles.ledger.get("turn", "t1"))?.body;
    if (stored === undefined) throw new Error("no turn");
    expect(stored.messages[0]?.text).toBe("[voice note, 0:42, transcribed]\nWhat is new?");
    expect(await runTurn(stored, doubles.stages, never)).toBe("done");
    expect(heard).toBe(1);
    expect(doubles.episodes).toMatchObject([{ userText: "[voice note, 0:42, transcribed]\nWhat is new?" }]);
  });

  test.each([
    ["I can't hear that.", `I can't hear that.\n\n*(${transcriptionIsOff})*`],
    ["Please ask an operator to set transcription.", "Please ask an operator to set transcription."],
  ])(
    "without the setting, the person reads it below the answer, unless the answer says it: %s",
    async (said, shown) => {
      const fetch = async () => note({ problem: transcriptionIsOff });
      doubles = createStageDoubles({ steps: [says(said)], files: { fetch } });
      await runTurn(await keepTurn(doubles.ledger, turn()), doubles.stages, never);
      expect(doubles.reply.segments.at(-1)).toBe(shown);
    },
  );
});
