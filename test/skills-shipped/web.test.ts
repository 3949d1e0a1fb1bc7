/** The web skill as it is shipped: SKILL.md, gate, and the plugin through the toolbox. */
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createGate } from "../../src/gate/gate.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { JsonObject } from "../../src/ports/message.ts";
import { taintTag } from "../../src/ports/origin.ts";
import { createSkillLibrary, gateRules } from "../../src/skill-runtime/library/library.ts";
import { loadSkills } from "../../src/skill-runtime/library/load.ts";
import { createToolbox } from "../../src/skill-runtime/toolbox.ts";
import { startWebSite } from "../doubles/web-site.ts";
import { makePlace, skillsFolder } from "./place.ts";

const root = join(skillsFolder, "web");
const set = await loadSkills([root]);
const gate = createGate({ rules: gateRules(set), matching: "extended" });
const exactGate = createGate({ rules: gateRules(set), matching: "exact" });
const gateTests = set.skills.flatMap((skill) => skill.gateTests);

test("it loads without a word to say about it, and is short in every prompt", () => {
  expect(set.diagnostics).toEqual([]);
  expect(gate.diagnostics()).toEqual([]);
  const [skill] = set.skills;
  expect(skill?.tools.map(({ name }) => name)).toEqual(["web_fetch", "web_fetch_any", "web_search"]);
  expect(skill?.description.length).toBeLessThanOrEqual(100);
  expect(JSON.stringify(skill?.tools.map(({ parameters }) => parameters))).not.toContain(":null");
});

test("all that comes in is untrusted, all that goes out is outward, and nothing is changed", () => {
  for (const tool of set.skills[0]?.tools ?? []) {
    expect(tool).toMatchObject({ readsUntrusted: true, isOutward: true, isReadOnly: true, isIdempotent: true });
  }
});

describe.each([
  ["extended", gate],
  ["exact", exactGate],
] as const)("with %s matching", (_name, one) => {
  test.each(gateTests)("$tool $args is $want", ({ tool, args, want }) => {
    expect(one.classify(tool, args).class).toBe(want);
  });
});

test("after the turn has read what others wrote, only an address that could carry something asks", () => {
  const page = { url: "https://example.com/page" };
  expect(gate.classify("web_fetch", page, [taintTag]).class).toBe("safe");
  expect(gate.classify("web_search", { query: "x" }, [taintTag]).class).toBe("safe");
  expect(gate.classify("web_fetch_any", page, [taintTag]).class).toBe("confirm");
  expect(gate.classify("web_fetch_any", page).class).toBe("safe");
});

test("in other spellings what is blocked stays blocked", () => {
  for (const url of [
    "HTTP://169.254.169.254/",
    "http:\\\\169.254.169.254",
    "http://metadata.google.internal./",
    "FILE:/etc/passwd",
  ]) {
    expect([url, gate.classify("web_fetch", { url }).class]).toEqual([url, "block"]);
  }
  expect(gate.classify("web_fetch", { url: "http://１６９.254.169.254/" }).class).not.toBe("confirm");
});

test("through the toolbox a page of this machine is refused, and fetched where an operator has opened it", async () => {
  const [place, site] = [await makePlace(), await startWebSite()];
  const library = createSkillLibrary({ roots: [root], log: silentLog, events: createEvents() });
  await library.reload();
  const open = (web: JsonObject) =>
    createToolbox({
      library,
      log: silentLog,
      workspace: place.workspace,
      filesRoot: join(place.workspace, "files"),
      dataFolder: join(place.root, "data", "skills"),
      config: { settings: { web } },
    });
  const toolboxes = [open({}), open({ allow: [`127.0.0.1:${site.port}`] }), open({ allow: [7] })];
  onTestFinished(async () => {
    for (const toolbox of toolboxes) await toolbox.close();
    await library.close();
    await site.close();
    await place.remove();
  });
  site.on("/", "<title>Inside</title><p>Hello <b>there</b></p>");
  site.on("/busy", (response) => response.writeHead(429, { "retry-after": "2" }).end());
  const { conversationId, scope, turnId, requester, workingFolder } = place.context("web");
  const at = { conversationId, scope, turnId, requester, workingFolder };
  const [closed, opened, broken] = toolboxes.map(
    (toolbox) => (name: string, input: JsonObject) =>
      toolbox.run({ id: "c1", name, input }, at, new AbortController().signal),
  );
  const url = `http://localhost:${site.port}/`;
  expect(await closed?.("web_fetch", { url: "http://localhost/" })).toMatchObject({
    isOk: false,
    isRetryable: false,
    isAnswer: true,
  });
  expect((await closed?.("web_fetch", { url: "http://localhost/" }))?.text).toContain("not a public address");
  expect(site.requests).toEqual([]);
  expect((await opened?.("web_fetch", { url }))?.text).toBe(`# Inside\n<${url}>\n\nHello **there**`);
  expect(await opened?.("web_fetch", { url: `${url}busy` })).toMatchObject({
    isOk: false,
    isRetryable: true,
    retryAfterMs: 2_000,
  });
  expect((await closed?.("web_search", { query: "x" }))?.text).toContain("No search provider is configured");
  expect((await broken?.("web_fetch", { url }))?.text).toContain("[skills.settings.web.allow.0]");
});
