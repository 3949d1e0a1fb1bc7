/** The mcp skill with servers that behave: real programs, the real client library, the gate and the toolbox. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createGate } from "../../src/gate/gate.ts";
import { gateRules } from "../../src/skill-runtime/library/library.ts";
import { loadSkills } from "../../src/skill-runtime/library/load.ts";
import { withStandIns } from "../../src/skill-runtime/plugins/dynamic-tools.ts";
import { openMcp, programServer } from "./mcp-agent.ts";
import { skillsFolder } from "./place.ts";

describe("the skill", () => {
  test("loads without a word to say about it, and is short in every prompt", async () => {
    const { skills, diagnostics } = await loadSkills([join(skillsFolder, "mcp")]);
    expect(diagnostics).toEqual([]);
    expect(skills).toMatchObject([{ name: "mcp", tools: [], providesTools: true, triggers: [] }]);
    expect(skills[0]?.description.length).toBeLessThanOrEqual(100);
  });

  test.each(["extended", "exact"] as const)(
    "asks about every tool that is offered, with %s matching",
    async (matching) => {
      const set = withStandIns(await loadSkills([join(skillsFolder, "mcp")]));
      const gate = createGate({ rules: gateRules(set), matching });
      for (const { tool, args, want } of set.skills.flatMap((skill) => skill.gateTests))
        expect(gate.classify(tool, args).class).toBe(want);
    },
  );

  test("without servers it has no tools, and starts nothing", async () => {
    const { names, problems, logged } = await openMcp({});
    await vi.waitFor(() => expect(logged).toEqual([]));
    expect([names(), problems()]).toEqual([[], []]);
  });
});

describe("tools of a server", () => {
  test("turn up by themselves, ask in both ways of matching, and run", async () => {
    const { until, run, gate, exactGate, toolbox } = await openMcp({ hub: programServer() });
    expect(toolbox.specs("any").map(({ name }) => name)).toEqual(["load_skill"]);
    await until("hub_echo");
    for (const name of toolbox.specs("any").map((spec) => spec.name)) {
      const wanted = name === "load_skill" ? "safe" : "confirm";
      expect([gate.classify(name, {}).class, exactGate.classify(name, {}).class]).toEqual([wanted, wanted]);
    }
    expect(await run("hub_echo", { text: "hi" })).toMatchObject({ isOk: true, text: 'echo {"text":"hi"}' });
    expect(toolbox.specs("any").find(({ name }) => name === "hub_echo")).toMatchObject({
      description: "What echo does",
      skill: "mcp",
      isReadOnly: false,
      readsUntrusted: true,
      isOutward: true,
      timeoutMs: 120_000,
    });
  });

  test("of several servers are kept apart by their names, and so are equal ones", async () => {
    const servers = { a_b: programServer({ more: ["c"] }), a: programServer({ more: ["b_c"] }) };
    const { until, run, names } = await openMcp(servers);
    await until("a_b_c_2");
    const texts = [await run("a_b_c"), await run("a_b_c_2")].map(({ text }) => text.split(" ")[0]).sort();
    expect(texts).toEqual(["b_c", "c"]);
    expect(names()).toContain("a_echo");
    expect(names()).toContain("a_b_echo");
  });

  test("are those that the settings allow; those they trust do not ask; names that do not exist are said", async () => {
    const more = { allow: ["echo", "wait", "nope"], trust: ["echo", "gone"], seconds: 7 };
    const { until, names, gate, problems, toolbox } = await openMcp({ hub: programServer({}, more) });
    await until("hub_echo");
    expect(names()).toEqual(["hub_echo", "hub_wait"]);
    expect([gate.classify("hub_echo", {}).class, gate.classify("hub_wait", {}).class]).toEqual(["safe", "confirm"]);
    expect(problems()).toEqual(["hub has no tool nope, gone, although its settings name it"]);
    expect(toolbox.specs("any").at(-1)?.timeoutMs).toBe(7_000);
  });

  test("that are renamed while it runs ask under their new names too, and an old name means nothing else", async () => {
    const { until, run, gate, names } = await openMcp({ hub: programServer() });
    await until("hub_rename");
    await run("hub_rename");
    await until("hub_renamed-1");
    expect(names()).not.toContain("hub_rename");
    expect([gate.classify("hub_renamed-1", {}).class, gate.classify("hub_rename", {}).class]).toEqual([
      "confirm",
      "confirm",
    ]);
    expect(await run("hub_rename")).toMatchObject({ isOk: false, text: expect.stringContaining("no tool") });
    await run("hub_renamed-1");
    await until("hub_renamed-2");
  });

  test("answer with texts, with pictures that the model sees, and with bytes as files: in the working folder, and copied for people", async () => {
    const { until, run, place } = await openMcp({ hub: programServer() });
    await until("hub_everything");
    const { isOk, text, files, images } = await run("hub_everything");
    expect(isOk).toBe(true);
    expect(text).toMatch(
      /^first\n\n\(image\/png, saved as (hub-everything-\w+\.png)\)\n\n\(audio\/wav, saved as hub-everything-\w+\.wav\)\n\nfile:\/\/\/notes\.txt:\nin the notes\n\n\(application\/octet-stream file:\/\/\/data\.bin, saved as .*\.bin\)\n\n\(A link: report https:\/\/example\.com\/report \)$/,
    );
    expect(files.map(({ mimeType }) => mimeType)).toEqual(["image/png", "audio/wav", "application/octet-stream"]);
    expect(images).toMatchObject([{ mimeType: "image/png" }]);
    const [picture] = files;
    expect(picture?.path).toBe(join(place.workspace, "outbox", "t1-c1", "1"));
    const bytes = await readFile(picture?.path ?? "");
    expect(bytes.subarray(1, 4).toString()).toBe("PNG");
    expect(await readFile(join(place.workingFolder, picture?.name ?? ""))).toEqual(bytes);
    expect([...(await readFile(files[2]?.path ?? ""))]).toEqual([0, 1, 2, 3]);
  });

  test("that refuse have given an answer: nothing is tried again", async () => {
    const { until, run } = await openMcp({ hub: programServer() });
    await until("hub_refuse");
    expect(await run("hub_refuse")).toMatchObject({
      isOk: false,
      isRetryable: false,
      isAnswer: true,
      text: "no such thing",
    });
  });
});

describe("what a program is given", () => {
  test("is its settings, PATH and the like, nothing else of this process, and a folder of its own", async () => {
    process.env.REMORA_TEST_SECRET = "hunter22";
    onTestFinished(() => void delete process.env.REMORA_TEST_SECRET);
    const server = programServer({}, { env: { OWN_KEY: "abc", LANG: "C" } });
    const { until, run, place } = await openMcp({ hub: server });
    await until("hub_environment");
    const { environment, folder } = JSON.parse((await run("hub_environment")).text);
    expect(environment).toMatchObject({ OWN_KEY: "abc", LANG: "C", PATH: process.env.PATH });
    const usual = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "OWN_KEY"];
    usual.push("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "STARTED_BY_REMORA");
    expect(Object.keys(environment).filter((name) => !usual.includes(name))).toEqual([]);
    expect(folder).toBe(join(place.root, "data/skills/mcp/hub"));
  });

  test("may be another folder", async () => {
    const { until, run } = await openMcp({ hub: programServer({}, { cwd: "/" }) });
    await until("hub_environment");
    expect(JSON.parse((await run("hub_environment")).text).folder).toBe("/");
  });
});

describe("settings", () => {
  test("a mistake in one server is said, without its values, and the others work", async () => {
    const wrong = {
      neither: {},
      both: { command: "x", url: "http://localhost" },
      unknown: { command: "x", enviroment: {} },
      ftp: { url: "ftp://x" },
      "my hub": { command: "x" },
      text: "npx x",
      list: { command: "x", env: { KEY: ["s3cret"] } },
      late: { command: "x", seconds: -1 },
    };
    const off = programServer({}, { disabled: true });
    const { until, problems, names } = await openMcp({ ...wrong, off, good: programServer() });
    await until("good_echo");
    const at = (name: string, what: string) =>
      expect.stringMatching(new RegExp(`^skills\\.settings\\.mcp\\.servers\\.${name}: .*${what}`));
    expect(problems()).toEqual([
      at("neither", "either command"),
      at("both", "either command"),
      at("unknown", "enviroment"),
      at("ftp", "url"),
      at("my hub", "a server's name"),
      at("text", "either command"),
      at("list", "env.KEY"),
      at("late", "seconds"),
    ]);
    expect(problems().join()).not.toContain("s3cret");
    expect(names().filter((name) => name.startsWith("off"))).toEqual([]);
  });
});
