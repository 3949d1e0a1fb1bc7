/**
 * The contract of every provider, including the cascade: it never throws, one `end` or `error` comes last, an abort ends the
 * stream, and failures say whether they are retryable.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ModelEvent, ModelRequest, Provider } from "../../src/ports/provider.ts";

export type FaultKind = "overloaded" | "wrong-key" | "broken" | "silent" | "refused";

export interface ProviderUnderTest {
  provider: Provider;
  /** Requests that are answered in several pieces of text, and with exactly one call of `look_up { place }`. */
  textRequest: ModelRequest;
  callRequest: ModelRequest;
  /** A request with `picture` in the result of a call. */
  pictureRequest: ModelRequest;
  /** The body of the newest request for an answer, as the service got it. */
  received(): string;
  /** From now on, the model sees no pictures. */
  blind(): void;
  /** Makes the next answer fail. */
  fail(kind: FaultKind): void;
  stop(): Promise<void>;
}

/** A PNG of one pixel. */
export const picture =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/**
 * `kind: stand-in` is a provider without a service that could fail, and `never-refuses` one whose service has no way to say
 * that a model declined.
 */
export function describeProvider(
  name: string,
  open: () => Promise<ProviderUnderTest>,
  kind: "service" | "never-refuses" | "stand-in" = "service",
): void {
  describe(`${name} keeps the promises of a provider`, () => {
    let under: ProviderUnderTest;
    beforeEach(async () => {
      under = await open();
    });
    afterEach(() => under.stop());

    test("text arrives in pieces, followed by exactly one end", async () => {
      const events = await collect(under.provider, under.textRequest);
      expect(events.filter((event) => event.type === "text-delta").length).toBeGreaterThan(1);
      expect(endings(events)).toEqual([events.length - 1]);
      expect(events.at(-1)).toMatchObject({ type: "end", stop: "end", model: under.provider.model });
    });

    test("a call arrives complete, with an id, and the answer ends in calls", async () => {
      const events = await collect(under.provider, under.callRequest);
      const calls = events.flatMap((event) => (event.type === "tool-call" ? [event] : []));
      expect(calls).toHaveLength(1);
      expect(calls[0]).toMatchObject({ name: "look_up", id: expect.stringMatching(/./) });
      expect(JSON.parse(calls[0]?.inputJson ?? "")).toMatchObject({ place: expect.any(String) });
      expect(events.at(-1)).toMatchObject({ type: "end", stop: "tool-calls" });
    });

    test("the end counts tokens, none of them negative", async () => {
      const last = (await collect(under.provider, under.textRequest)).at(-1);
      if (last?.type !== "end") throw new Error("no end");
      for (const count of Object.values(last.usage)) expect(count).toBeGreaterThanOrEqual(0);
      expect(Object.keys(last.usage).sort()).toEqual([
        "cacheReadTokens",
        "cacheWriteTokens",
        "inputTokens",
        "outputTokens",
      ]);
    });

    test("a request aborted before its start only ends as aborted", async () => {
      const events = await collect(under.provider, under.callRequest, AbortSignal.abort());
      expect(endings(events)).toEqual([events.length - 1]);
      expect(events.at(-1)).toMatchObject({ type: "error", error: { code: "provider.aborted", isRetryable: false } });
      expect(events.some((event) => event.type === "tool-call")).toBe(false);
    });

    test("an abort during the answer ends the stream as aborted", async () => {
      const controller = new AbortController();
      const events: ModelEvent[] = [];
      for await (const event of under.provider.stream(under.textRequest, controller.signal)) {
        events.push(event);
        controller.abort();
      }
      expect(endings(events)).toEqual([events.length - 1]);
      expect(events.at(-1)).toMatchObject({ type: "error", error: { code: "provider.aborted" } });
    });

    test("a reader can stop early, and the provider still works", async () => {
      for await (const event of under.provider.stream(under.textRequest, new AbortController().signal)) {
        if (event.type === "text-delta") break;
      }
      const events = await collect(under.provider, under.textRequest);
      expect(events.at(-1)?.type).toBe("end");
    });

    test("answers to several requests at once do not mix", async () => {
      const requests = [under.textRequest, under.callRequest, under.textRequest, under.callRequest];
      const answers = await Promise.all(requests.map((request) => collect(under.provider, request)));
      expect(answers.map((events) => events.some((event) => event.type === "tool-call"))).toEqual([
        false,
        true,
        false,
        true,
      ]);
      expect(textOf(answers[0])).toBe(textOf(answers[2]));
    });

    if (kind === "stand-in") return;

    test("a picture in a result reaches the model once, with the result's text", async () => {
      const events = await collect(under.provider, under.pictureRequest);
      expect(events.at(-1)).toMatchObject({ type: "end" });
      expect(under.received().split(picture)).toHaveLength(2);
      expect(under.received()).toContain("Here is the chart.");
    });

    test("a model that sees no pictures gets a sentence instead, now and at the next step", async () => {
      under.blind();
      for (const _step of [1, 2]) {
        const events = await collect(under.provider, under.pictureRequest);
        expect(endings(events)).toEqual([events.length - 1]);
        expect(events.at(-1)).toMatchObject({ type: "end", stop: "end" });
        expect(under.received()).not.toContain(picture);
        expect(under.received()).toContain("this model can't see pictures");
        expect(under.received()).toContain("Here is the chart.");
      }
    });

    test("an overload is a retryable error", async () => {
      under.fail("overloaded");
      const all = await collect(under.provider, under.textRequest);
      const events = all.filter(({ type }) => type !== "notice");
      expect(events).toHaveLength(1);
      expect(events[0]).toMatchObject({ type: "error", error: { code: "provider.overloaded", isRetryable: true } });
    });

    test("a wrong key is a permanent error that names the setting", async () => {
      under.fail("wrong-key");
      const events = await collect(under.provider, under.textRequest);
      expect(events).toHaveLength(1);
      const [event] = events;
      if (event?.type !== "error") throw new Error("no error");
      expect(event.error).toMatchObject({ code: "provider.wrong-key", isRetryable: false });
      expect(event.error.message).toMatch(/set a valid one in [A-Z]+_[A-Z_]+/);
    });

    test("a broken connection is an error after the text so far", async () => {
      under.fail("broken");
      const events = await collect(under.provider, under.textRequest);
      expect(events[0]?.type).toBe("text-delta");
      expect(endings(events)).toEqual([events.length - 1]);
      expect(events.at(-1)).toMatchObject({ type: "error", error: { code: "provider.cut", isRetryable: true } });
    });

    test.skipIf(kind === "never-refuses")("a refusal voids what was said, and is a permanent error", async () => {
      under.fail("refused");
      const events = await collect(under.provider, under.textRequest);
      expect(endings(events)).toEqual([events.length - 1]);
      expect(events.at(-2)).toMatchObject({ type: "restart", usage: { inputTokens: expect.any(Number) } });
      expect(events.at(-1)).toMatchObject({ type: "error", error: { code: "provider.refused", isRetryable: false } });
    });

    test("an abort ends even an unanswered request", async () => {
      under.fail("silent");
      const controller = new AbortController();
      const pending = collect(under.provider, under.textRequest, controller.signal);
      setImmediate(() => controller.abort());
      expect(await pending).toMatchObject([{ type: "error", error: { code: "provider.aborted" } }]);
    });
  });
}

async function collect(
  provider: Provider,
  request: ModelRequest,
  signal: AbortSignal = new AbortController().signal,
): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of provider.stream(request, signal)) events.push(event);
  return events;
}

/** Indexes of the end events. By contract, there is exactly one, and it is last. */
function endings(events: ModelEvent[]): number[] {
  return events.flatMap((event, index) => (event.type === "end" || event.type === "error" ? [index] : []));
}

function textOf(events: ModelEvent[] | undefined): string {
  return (events ?? []).map((event) => (event.type === "text-delta" ? event.text : "")).join("");
}
