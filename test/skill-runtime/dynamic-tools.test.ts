import { readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { grantableRules } from "../../src/approvals/grants.ts";
import { contentOf } from "../../src/skill-runtime/library/library.ts";
import { skillFolder, skillText, temporaryFolder, writeFiles } from "./folders.ts";
import { openProviding, providingSkill, tool } from "./providing.ts";

describe("tools that a plugin offers while it runs", () => {
  test("turn up without a call, under names that providers take, and run as the tools they are", async () => {
    const { offer, toolbox, run } = await openProviding();
    await offer("hub", { tools: [tool("hub/list issues"), tool("hub/search")] }, ["hub_list_issues", "hub_search"]);
    expect((await run("hub_list_issues", { a: 1 })).text).toBe('hub/list issues {"a":1}');
    expect(toolbox.specs("any").at(-1)).toEqual({
      name: "hub_search",
      description: "What hub/search does",
      parameters: { type: "object", properties: {} },
      skill: "hub",
      folder: "write",
      isReadOnly: false,
      isIdempotent: false,
      readsUntrusted: true,
      isOutward: true,
      offeredBy: "hub",
      timeoutMs: 120_000,
      shellParameters: [],
    });
  });

  test("are described by load_skill with their program as origin, one program at a time if there are several", async () => {
    const { offer, run } = await openProviding();
    await offer("a", { tools: [tool("a/get"), tool("a/list")] }, ["a_get", "a_list"]);
    const from = (program: string) => [{ kind: "mcp", name: program }];
    const load = (name: string) => run("load_skill", { name });
    expect(await load("hub")).toMatchObject({ text: expect.stringContaining("What a/get does"), origins: from("a") });
    await offer("b", { tools: [tool("b/get")] }, ["a_get", "a_list", "b_get"]);
    const both = await load("hub");
    expect([both.text, both.origins]).toEqual([
      expect.stringMatching(/hub\/a \(2 tools\)\n- hub\/b \(1 tools\)/),
      undefined,
    ]);
    expect(both.text).not.toContain("What ");
    expect(await load("hub/a")).toMatchObject({
      text: expect.stringContaining("What a/list does"),
      origins: from("a"),
    });
    expect(await load("b_get")).toMatchObject({ text: expect.stringContaining("What b/get does"), origins: from("b") });
  });

  test("are named in every prompt if their names are a few plain words or the settings have them", async () => {
    const { offer, toolbox } = await openProviding();
    const plain = ["get", "list_pull_requests", "searchIssues"];
    const telling = ["IMPORTANT_first_react_with_eyes", "do_this_now_please", "call-load-skill", "x1", "a".repeat(13)];
    const named = "please_use_this_tool_first";
    const tools = [...[...plain, ...telling].map((name) => tool(`a/${name}`)), tool(`a/${named}`, { isNamed: true })];
    const names = tools.map(({ name }) => name.replace("/", "_")).sort();
    await offer("a", { tools }, names);
    const shown = toolbox.specs("any").filter(({ isNameHidden }) => isNameHidden !== true);
    expect(shown.map(({ name }) => name).sort()).toEqual(
      ["load_skill", ...[...plain, named].map((name) => `a_${name}`)].sort(),
    );
  });

  test("each asks by a rule of its own, but for those that the operator trusts", async () => {
    const { offer, gate } = await openProviding();
    const tools = [tool("hub/add"), tool("hub/look", { isTrusted: true }), tool("hub/drop")];
    await offer("hub", { tools }, ["hub_add", "hub_drop", "hub_look"]);
    expect(gate.classify("hub_look", {}).class).toBe("safe");
    const verdict = gate.classify("hub_add", { text: "x" });
    expect(verdict).toMatchObject({ class: "confirm", matches: [{ pattern: "^hub_add ", reason: "runs hub_add" }] });
    expect(grantableRules(verdict.matches)).toEqual([{ skill: "hub", pattern: "^hub_add ", reason: "runs hub_add" }]);
    expect(gate.classify("hub_drop", {}).matches).toMatchObject([{ pattern: "^hub_drop ", line: 5 }]);
  });

  test("a danger pattern for offered tools holds for the trusted ones as well", async () => {
    const files = {
      ...providingSkill,
      "hub/SKILL.md": skillText(
        "hub",
        "provides_tools: true\ndanger_patterns: ['^{offered_tool} .*secret']\nconfirm_patterns: ['^{offered_tool} ']",
      ),
    };
    const { offer, gate } = await openProviding({ files });
    await offer("hub", { tools: [tool("hub/look", { isTrusted: true })] }, ["hub_look"]);
    expect(gate.classify("hub_look", { a: "secret" }).class).toBe("block");
    expect(gate.classify("hub_look", { a: "other" }).class).toBe("safe");
  });

  test("an offer stands in place of the earlier one of its source; without tools those stay", async () => {
    const { offer, problems } = await openProviding();
    await offer("one", { tools: [tool("one/a")] }, ["one_a"]);
    await offer("two", { tools: [tool("two/a")] }, ["one_a", "two_a"]);
    await offer("one", { tools: [tool("one/b")] }, ["one_b", "two_a"]);
    await offer("two", { problems: ["two is gone for a moment"] });
    await vi.waitFor(() => expect(problems()).toEqual(["two is gone for a moment"]));
    await offer("two", { tools: [] }, ["one_b"]);
    expect(problems()).toEqual([]);
  });

  test("the same offer again changes nothing, and says nothing", async () => {
    const { offer, library, logged } = await openProviding();
    await offer("hub", { tools: [tool("hub/a")] }, ["hub_a"]);
    const before = library.current();
    const said = logged.length;
    await offer("hub", { tools: [tool("hub/a")] });
    await offer("other", { tools: [tool("b")] }, ["b", "hub_a"]);
    expect(library.current()).not.toBe(before);
    expect(logged.slice(said).filter(({ message }) => String(message).includes("have changed"))).toHaveLength(1);
  });

  test("stay through a change of other skills, and go with their own", async () => {
    const { offer, root, library, names, gate } = await openProviding();
    await offer("hub", { tools: [tool("hub/a")] }, ["hub_a"]);
    await writeFiles(root, { "other/SKILL.md": skillText("other") });
    const set = await library.reload();
    expect([set.skills.length, names()]).toEqual([2, ["hub_a"]]);
    await writeFiles(root, { "hub/SKILL.md": skillText("hub") });
    await library.reload();
    expect([names(), gate.classify("hub_a", {}).class]).toEqual([[], "safe"]);
  });
});

describe("names", () => {
  const withOther = (name: string) => ({
    ...providingSkill,
    "zoo/SKILL.md": skillText("zoo", `tools: [{ name: ${name} }]`),
    "zoo/plugin.mjs": "export default { execute: () => 'of the file' };",
  });

  test("of a tool in a file are never taken, also when the file comes later", async () => {
    const { offer, root, library, names, problems, run } = await openProviding({ files: withOther("shell_exec") });
    await offer("shell", { tools: [tool("shell/exec"), tool("load/skill"), tool("a/b")] });
    await vi.waitFor(() => expect(names()).toEqual(["a_b", "load_skill_2", "shell_exec_2", "shell_exec"]));
    expect(problems()).toEqual([
      "the tool load/skill is called load_skill_2 because another tool is called load_skill",
      "the tool shell/exec is called shell_exec_2 because another tool is called shell_exec",
    ]);
    expect((await run("shell_exec")).text).toBe("of the file");
    await writeFiles(root, { "zoo/SKILL.md": skillText("zoo", "tools: [{ name: a_b }]") });
    await library.reload();
    expect(names()).toEqual(["a_b_2", "load_skill_2", "shell_exec_2", "a_b"]);
    expect((await run("a_b")).text).toBe("of the file");
  });

  test("go on meaning the same tool, and asking, whatever comes and goes", async () => {
    const { offer, run, gate } = await openProviding();
    await offer("one", { tools: [tool("a_b/c", { isTrusted: true }), tool("x")] }, ["a_b_c", "x"]);
    await offer("one", { tools: [] }, []);
    expect(gate.classify("x", {}).class).toBe("confirm");
    await offer("two", { tools: [tool("a/b_c")] }, ["a_b_c_2"]);
    await offer("one", { tools: [tool("a_b/c", { isTrusted: true })] }, ["a_b_c_2", "a_b_c"]);
    expect((await run("a_b_c")).text).toContain("a_b/c");
    expect((await run("a_b_c_2")).text).toContain("a/b_c");
    expect([gate.classify("a_b_c", {}).class, gate.classify("a_b_c_2", {}).class]).toEqual(["safe", "confirm"]);
  });

  test("are short enough for every provider, and of two skills that offer the same each has its own", async () => {
    const long = "l".repeat(100);
    const files = {
      ...providingSkill,
      "mob/SKILL.md": skillText("mob", "provides_tools: true\nconfirm_patterns: ['^{offered_tool} ']"),
      "mob/plugin.mjs": providingSkill["hub/plugin.mjs"],
    };
    const { offer } = await openProviding({ files });
    const [first, second] = ["l".repeat(64), `${"l".repeat(62)}_2`];
    await offer("hub", { tools: [tool(`${long}1`), tool(`${long}2`)] }, [first, second]);
    await offer("mob", { tools: [tool(`${long}1`)] }, [first, second, `${"l".repeat(62)}_3`], "mob");
  });

  test("at most a hundred tools are in force, of every source some, and that is said", async () => {
    const { offer, names, problems } = await openProviding();
    const many = Array.from({ length: 500 }, (_, index) => tool(`many/${index}`));
    await offer("few", { tools: [tool("few/a"), tool("few/b")] }, ["few_a", "few_b"]);
    await offer("many", { tools: many });
    await vi.waitFor(() => expect(names()).toHaveLength(100));
    expect(names()).toEqual(expect.arrayContaining(["few_a", "few_b", "many_0", "many_97"]));
    expect(problems()).toEqual([expect.stringMatching(/^many offers 500 tools, of which 98 are in force/)]);
  });
});

describe("an approval of an offered tool", () => {
  test("is for what that tool was: others may change meanwhile, it may not", async () => {
    const { offer, library } = await openProviding();
    await offer("hub", { tools: [tool("hub/a"), tool("hub/b")] }, ["hub_a", "hub_b"]);
    const before = contentOf(library.current(), "hub_a");
    await offer("hub", { tools: [tool("hub/a"), tool("hub/c")] }, ["hub_a", "hub_c"]);
    expect(contentOf(library.current(), "hub_a")).toBe(before);
    await offer("hub", { tools: [tool("hub/a", { description: "Something else" })] }, ["hub_a"]);
    expect(contentOf(library.current(), "hub_a")).not.toBe(before);
  });
});

describe("over a restart", () => {
  test("what was offered is in force at once, with its rules, before any plugin has run", async () => {
    const first = await openProviding();
    const tools = [tool("hub/a", { timeoutMs: 5_000 }), tool("hub/b", { isTrusted: true })];
    await first.offer("hub", { tools }, ["hub_a", "hub_b"]);
    const content = contentOf(first.library.current(), "hub_a");
    await first.close();
    const again = await openProviding({ root: first.root, home: first.home });
    expect(again.names()).toEqual(["hub_a", "hub_b"]);
    expect([again.gate.classify("hub_a", {}).class, again.gate.classify("hub_b", {}).class]).toEqual([
      "confirm",
      "safe",
    ]);
    expect(contentOf(again.library.current(), "hub_a")).toBe(content);
    expect((await again.run("hub_a")).text).toBe("hub/a {}");
  });

  test("not with other settings, and not from a file that can't be read", async () => {
    const first = await openProviding({ config: { settings: { hub: { servers: { a: 1, b: "top secret" } } } } });
    await first.offer("hub", { tools: [tool("hub/a")] }, ["hub_a"]);
    await first.close();
    const { root, home } = first;
    const changed = await openProviding({ root, home, config: { settings: { hub: { servers: { a: 2 } } } } });
    expect(changed.names()).toEqual([]);
    await changed.close();
    const same = { settings: { hub: { servers: { b: "top secret", a: 1 } } } };
    const back = await openProviding({ root, home, config: same });
    expect(back.names()).toEqual(["hub_a"]);
    await back.close();
    const kept = join(home, "data/.offered");
    const [file = ""] = await readdir(kept);
    expect(await readFile(join(kept, file), "utf8")).not.toContain("top secret");
    await writeFile(join(kept, file), '{"settings": 7');
    const broken = await openProviding({ root, home, config: same });
    expect(broken.names()).toEqual([]);
    expect(broken.logged).toContainEqual(expect.objectContaining({ file: join(kept, file) }));
  });
});

describe("plugins that provide tools", () => {
  test("one that can't be started is a finding about its skill, and is started again when it has changed", async () => {
    const files = {
      ...providingSkill,
      "hub/plugin.mjs": "throw new Error('no way');",
      "good/SKILL.md": skillText("good", "tools: [{ name: work }]"),
      "good/plugin.mjs": "export default { execute: () => 'works' };",
    };
    const root = await skillFolder(files);
    const { problems, run, library, offer } = await openProviding({ root });
    const text = "its plugin could not be started, so it has no tools: no way";
    await vi.waitFor(() => expect(problems()).toEqual([text]));
    expect((await run("work")).text).toBe("works");
    await writeFiles(root, { "hub/plugin.mjs": providingSkill["hub/plugin.mjs"] });
    await utimes(join(root, "hub/plugin.mjs"), new Date(), new Date(Date.now() + 5_000));
    await library.reload();
    await offer("hub", { tools: [tool("hub/a")] }, ["work", "hub_a"]);
    await vi.waitFor(() => expect(problems()).toEqual([]));
  });

  test("one that never ends its start holds up nothing", async () => {
    const files = {
      ...providingSkill,
      "hub/plugin.mjs": "export default { init: () => new Promise(() => {}), execute: () => '' };",
    };
    const { names, close } = await openProviding({ files });
    expect(names()).toEqual([]);
    await close();
  });

  test("one that no conversation may use is not started; nor is anything offered for a skill that does not say so", async () => {
    const files = {
      ...providingSkill,
      "plain/SKILL.md": skillText("plain", "tools: [{ name: look }]"),
      "plain/plugin.mjs": "export default { execute: (tool, input, context) => String('offer' in context) };",
    };
    const { run, home } = await openProviding({ files, config: { deny: ["hub"] } });
    expect((await run("look")).text).toBe("false");
    expect(await readdir(join(home, "data"))).toEqual(["plain"]);
  });

  test("a replaced one is not listened to any more", async () => {
    const { offer, root, library, pluginHome, names } = await openProviding({ home: await temporaryFolder() });
    await offer("hub", { tools: [tool("hub/a")] }, ["hub_a"]);
    const old = await pluginHome();
    await utimes(join(root, "hub/plugin.mjs"), new Date(), new Date(Date.now() + 5_000));
    await library.reload();
    const fresh = await vi.waitFor(async () => {
      const now = await pluginHome();
      expect(now).not.toBe(old);
      return now;
    });
    old.offer?.("hub", { tools: [tool("hub/old")] });
    fresh.offer?.("hub", { tools: [tool("hub/new")] });
    await vi.waitFor(() => expect(names()).toEqual(["hub_new"]));
  });
});
