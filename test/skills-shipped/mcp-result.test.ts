/** What a server answered, as the model reads it: whatever it is. */
import { readdir } from "node:fs/promises";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { readResult } from "../../skills/mcp/result.ts";
import { makePlace } from "./place.ts";

async function open() {
  const place = await makePlace();
  onTestFinished(() => place.remove());
  const { workingFolder } = place;
  return {
    workingFolder,
    read: (answer: object) => readResult({ ...answer }, { workingFolder, fileName: "hub-tool" }),
  };
}

const image = (data: unknown, mimeType: unknown = "image/png") => ({ type: "image", data, mimeType });

test("structured content is shown where nothing else is said", async () => {
  const { read } = await open();
  expect(await read({ content: [], structuredContent: { a: 1 } })).toMatchObject({
    success: true,
    output: '{\n "a": 1\n}',
  });
  const both = { content: [{ type: "text", text: "said" }], structuredContent: { a: 1 } };
  expect(await read(both)).toMatchObject({ output: "said" });
  expect(await read({ structuredContent: null })).toMatchObject({ success: true, output: "null" });
});

test("a failure says why, or that it did not", async () => {
  const { read } = await open();
  expect(await read({ isError: true, content: [{ type: "text", text: "no" }] })).toMatchObject({
    success: false,
    error: "no",
  });
  expect(await read({ isError: true })).toMatchObject({
    success: false,
    error: expect.stringContaining("without a reason"),
  });
});

test("at most ten files are saved, none that is too large, and each has its own name", async () => {
  const { read, workingFolder } = await open();
  const many = await read({ content: Array(12).fill(image("AAAA")) });
  expect(many).toMatchObject({
    success: true,
    output: expect.stringContaining("left out: the limit for one answer is 10 files"),
  });
  expect(await readdir(workingFolder)).toHaveLength(10);
  const large = await read({ content: [image(Buffer.alloc(9 * 1024 * 1024).toString("base64"))] });
  expect(large).toMatchObject({ success: true, output: expect.stringMatching(/not saved: .*limit/) });
  expect(await readdir(workingFolder)).toHaveLength(10);
});

test("what a server calls a file has no say in where it is saved", async () => {
  const { read, workingFolder } = await open();
  const resource = { uri: "file:///../../etc/passwd", mimeType: "../../x", blob: "AAAA" };
  expect(
    await read({ content: [{ type: "resource", resource }, image("AAAA", "__proto__"), image("AAAA", 7)] }),
  ).toMatchObject({
    success: true,
  });
  const names = await readdir(workingFolder);
  expect(names.every((name) => /^hub-tool-[0-9a-f]{8}\.bin$/.test(name))).toBe(true);
  expect(names).toHaveLength(3);
});

test("any answer gives a result", async () => {
  const { read } = await open();
  const block = fc.record(
    {
      type: fc.constantFrom("text", "image", "audio", "resource", "resource_link", "other"),
      text: fc.anything(),
      data: fc.anything(),
      mimeType: fc.anything(),
      resource: fc.anything(),
    },
    { requiredKeys: [] },
  );
  const answer = fc.record(
    {
      content: fc.oneof(fc.array(block, { maxLength: 3 }), fc.anything()),
      structuredContent: fc.jsonValue(),
      isError: fc.anything(),
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(answer, async (given) => {
      expect(await read(given)).toHaveProperty("success");
    }),
    { numRuns: 100 },
  );
});

test("pictures are shown as well as saved, but not an SVG or a sound", async () => {
  const { read } = await open();
  const resource = { uri: "file:///b", mimeType: "image/jpeg", blob: "BBBB" };
  const content = [
    image("AAAA"),
    { type: "resource", resource },
    image("CCCC", "image/svg+xml"),
    image("DDDD", "audio/wav"),
  ];
  expect(await read({ content })).toMatchObject({ images: [{ base64: "AAAA" }, { base64: "BBBB" }] });
});
