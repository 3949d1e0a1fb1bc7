/** What public reports of other projects say that models and their services send, by kind (README.md, "Models"). */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { FieldShape } from "../providers/field-shapes/shape.ts";
import { checkShape, startWire, type Wire } from "../providers/field-shapes/wire.ts";
import { callShapes, endShapes, refusedShapes, textShapes, thinkingShapes } from "./model-streams.ts";

let wire: Wire;
beforeAll(async () => {
  wire = await startWire();
});
afterAll(() => wire.close());

const streams: Record<string, FieldShape[]> = { callShapes, textShapes, thinkingShapes, endShapes, refusedShapes };

describe.each(Object.keys(streams))("%s", (kind) => {
  for (const shape of streams[kind] ?? [])
    test(shape.title, async () => {
      await checkShape(shape, await wire.ask(shape));
    });
});

test("every report of models names its public page", () => {
  for (const { title, source } of Object.values(streams).flat()) expect(source, title).toMatch(/^https:\/\/\S+\/\S+$/);
});
