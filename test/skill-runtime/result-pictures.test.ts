/** Pictures that plugins return, in process and isolated: scaled, checked, limited, or a sentence in the text. */
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import sharp from "sharp";
import { describe, expect, onTestFinished, test } from "vitest";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import { scalePicture } from "../../src/plugin-sdk/documents/scale-picture.ts";
import type { ScalePicture } from "../../src/ports/tool.ts";
import { createUnconfinedLauncher } from "../../src/sandbox/plugin-launcher.ts";
import { createSkillLibrary } from "../../src/skill-runtime/library/library.ts";
import { createIsolatedPlugins } from "../../src/skill-runtime/plugins/isolated/isolated-plugins.ts";
import { createToolbox } from "../../src/skill-runtime/toolbox.ts";
import { skillFolder, skillText, temporaryFolder } from "./folders.ts";

const photo = await sharp({ create: { width: 3_000, height: 1_500, channels: 3, background: "teal" } })
  .png()
  .toBuffer();

/** The plugin returns what the call's `images` are. */
const plugin = `export default {
  execute: (tool, { images, success = true }) => ({ success, output: "drawn", error: "broke", images }),
};`;

async function open(isIsolated: boolean, scale: ScalePicture | undefined = scalePicture, files = "read") {
  const fields = `tools: [{ name: act, folder: read }]\npermissions: { files: ${files} }`;
  const root = await skillFolder({ "demo/SKILL.md": skillText("demo", fields), "demo/plugin.mjs": plugin });
  const home = await temporaryFolder();
  const library = createSkillLibrary({ roots: [root], log: silentLog, events: createEvents() });
  await library.reload();
  const workingFolder = join(home, "files", "ann");
  await mkdir(workingFolder, { recursive: true });
  await writeFile(join(home, "secret.png"), photo);
  await writeFile(join(workingFolder, "photo.png"), photo);
  await writeFile(join(workingFolder, "notes.txt"), "only text");
  const toolbox = createToolbox({
    ...{ library, log: silentLog, workspace: home, config: {} },
    ...{ filesRoot: join(home, "files"), dataFolder: join(home, "data") },
    ...(scale === undefined ? {} : { scalePicture: scale }),
    isolated: createIsolatedPlugins({ launcher: createUnconfinedLauncher(), env: {}, log: silentLog }),
    isIsolated: () => isIsolated,
  });
  onTestFinished(async () => {
    await toolbox.close();
    await library.close();
  });
  const scope = {
    ...{ turnId: "t1", conversationId: "local:dm:ann", scope: "dm:ann" as const, workingFolder },
    requester: { id: "ann", name: "Ann", isBot: false, roles: [] },
  };
  const run = (images: unknown, more = {}) =>
    toolbox.run({ id: "c1", name: "act", input: { images, ...more } as never }, scope, new AbortController().signal);
  return { home, workingFolder, run };
}

const sizeOf = async (base64: string | undefined) => {
  const { width, height } = await sharp(Buffer.from(base64 ?? "", "base64")).metadata();
  return [width, height];
};

describe.each([
  ["in process", false],
  ["isolated", true],
])("%s", (_name, isIsolated) => {
  test("a picture as bytes and one as a file are scaled", async () => {
    const { run, workingFolder } = await open(isIsolated);
    const images = [
      { base64: photo.toString("base64") },
      { path: "photo.png" },
      { path: join(workingFolder, "photo.png") },
    ];
    const { isOk, text, images: shown = [] } = await run(images);
    expect({ isOk, text }).toEqual({ isOk: true, text: "drawn" });
    expect(await Promise.all(shown.map(({ base64 }) => sizeOf(base64)))).toEqual(Array(3).fill([1_568, 784]));
    for (const { mimeType, base64 } of shown) {
      expect(mimeType).toMatch(/^image\/(?:png|jpeg)$/);
      expect(base64.length).toBeLessThan(540_000);
    }
  });

  test("of more than three pictures, the first three are shown, and the text says so", async () => {
    const { run } = await open(isIsolated);
    const { text, images } = await run(Array(5).fill({ path: "photo.png" }));
    expect(images).toHaveLength(3);
    expect(text).toBe("drawn\n\n(2 more pictures are not shown: the limit is 3 for one result.)");
  });

  test.each([
    [[{ path: "notes.txt" }], /The picture notes\.txt was left out\. It is not a picture/],
    [[{ path: "missing.png" }], /The picture missing\.png was left out: "missing\.png" does not exist/],
    [[{ path: "../../secret.png" }], /The picture secret\.png was left out: .*outside/],
    [[{ path: "/etc/passwd" }], /The picture passwd was left out: .*outside/],
    [[{ path: "out.png" }], /The picture out\.png was left out: .*outside/],
    [[{ base64: photo.subarray(0, 200).toString("base64") }], /A picture was left out\. The picture is damaged/],
    [[{ base64: "" }], /A picture was left out\. It is not a picture/],
    [[{}], /A picture was left out: it has neither base64 nor a path/],
    [[null, 7], /neither base64 nor a path[\s\S]*neither base64 nor a path/],
  ])("what can't be shown becomes a sentence: %j", async (images, sentence) => {
    const { run, home, workingFolder } = await open(isIsolated);
    await symlink(join(home, "secret.png"), join(workingFolder, "out.png"));
    const result = await run(images);
    expect(result).toMatchObject({ isOk: true, text: expect.stringMatching(sentence) });
    expect(result.images).toBeUndefined();
  });

  test.each([["a text"], [{ path: "photo.png" }], [7]])("images that are no list are ignored: %j", async (images) => {
    const result = await (await open(isIsolated)).run(images);
    expect(result).toMatchObject({ isOk: true, text: "drawn" });
    expect(result.images).toBeUndefined();
  });

  test("a failed call shows no pictures", async () => {
    const result = await (await open(isIsolated)).run([{ path: "photo.png" }], { success: false });
    expect(result).toMatchObject({ isOk: false, text: "broke\n\ndrawn" });
    expect(result.images).toBeUndefined();
  });
});

test("an isolated plugin without file access can't show a picture of the working folder", async () => {
  const result = await (await open(true, scalePicture, "none")).run([{ path: "photo.png" }]);
  expect(result.text).toMatch(/photo\.png was left out/);
  expect(result.images).toBeUndefined();
});

test("without a scaler, pictures become a sentence", async () => {
  const { run } = await open(false, async () => ({ type: "problem", message: "Pictures can't be read here." }));
  expect((await run([{ path: "photo.png" }])).text).toContain("Pictures can't be read here.");
});
