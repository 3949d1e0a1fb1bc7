/**
 * What model services and gateways really send, as people have reported it, over each protocol, with the real client libraries. The
 * answers are written to the wire byte for byte.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { apis } from "./apis.ts";
import { anthropicStreams } from "./field-shapes/anthropic-streams.ts";
import { chatCalls } from "./field-shapes/chat-calls.ts";
import { chatEnds } from "./field-shapes/chat-ends.ts";
import { chatStreams } from "./field-shapes/chat-streams.ts";
import { chatWire } from "./field-shapes/chat-wire.ts";
import { otherStreams } from "./field-shapes/other-streams.ts";
import { refusals } from "./field-shapes/refusals.ts";
import { refusedAccess } from "./field-shapes/refused-access.ts";
import { refusedRequests } from "./field-shapes/refused-requests.ts";
import type { FieldShape } from "./field-shapes/shape.ts";
import { checkShape, startWire, type Wire } from "./field-shapes/wire.ts";

const shapes: FieldShape[] = [
  ...[...chatStreams, ...chatCalls, ...chatWire, ...chatEnds, ...anthropicStreams, ...otherStreams],
  ...[...refusedRequests, ...refusedAccess, ...refusals],
];

let wire: Wire;
beforeAll(async () => {
  wire = await startWire();
});
afterAll(() => wire.close());

describe.each(apis)("$name", ({ name }) => {
  for (const shape of shapes.filter(({ api }) => api === name)) {
    test(shape.title, async () => {
      await checkShape(shape, await wire.ask(shape));
    });
  }
});

test("every shape names a public page on which it was seen", () => {
  for (const { title, source } of shapes) expect(source, title).toMatch(/^https:\/\/[a-z.]+\/\S+$/);
  const titles = shapes.map(({ api, title }) => `${api}: ${title}`);
  expect(new Set(titles).size).toBe(titles.length);
});
