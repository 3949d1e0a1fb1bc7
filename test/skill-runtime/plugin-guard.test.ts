import { execa } from "execa";
import { describe, expect, test } from "vitest";
import { skillFolder, skillText, temporaryFolder } from "./folders.ts";

const source = (file: string) => JSON.stringify(new URL(`../../src/${file}`, import.meta.url).href);

/** Runs the tool `act` of a plugin with this source in a process of its own, then says what was logged and that it is still there. */
async function runInProcess(plugin: string, { untilLogged = false, after = "" } = {}) {
  const root = await skillFolder({
    "demo/SKILL.md": skillText("demo", "tools: [{ name: act }]"),
    "demo/plugin.mjs": plugin,
  });
  const home = await temporaryFolder();
  const script = `
    // As libraries do it: what it exports is settled with the first import.
    import "node:process";
    import { createEvents } from ${source("lib/event-bus.ts")};
    import { createSkillLibrary } from ${source("skill-runtime/library/library.ts")};
    import { createToolbox } from ${source("skill-runtime/toolbox.ts")};
    const logged = [];
    const note = (fields, message) => logged.push({ ...fields, message });
    const log = { debug: note, info: note, warn: note, error: note };
    const [root, home] = process.argv.slice(-2);
    const library = createSkillLibrary({ roots: [root], log, events: createEvents() });
    await library.reload();
    const toolbox = createToolbox({ library, log, workspace: home, filesRoot: home, dataFolder: home + "/data", config: {} });
    const scope = { turnId: "t", conversationId: "c", scope: "dm:ann", requester: { id: "ann", name: "Ann", isBot: false, roles: [] }, workingFolder: home };
    const attempt = await toolbox.run({ id: "1", name: "act", input: {} }, scope, new AbortController().signal);
    while (${untilLogged} && !logged.some(({ error }) => error !== undefined)) await new Promise((resolve) => setTimeout(resolve, 5));
    ${after}
    await toolbox.close();
    await library.close();
    process.stdout.write(JSON.stringify({ attempt, logged: logged.filter(({ skill }) => skill === "demo") }) + "\\n");`;
  const result = await execa(process.execPath, ["--input-type=module", "-e", script, root, home], {
    reject: false,
    node: false,
  });
  return { ...result, said: result.exitCode === 0 ? JSON.parse(result.stdout) : undefined };
}

describe("a plugin can't do to the process what it likes", () => {
  test.each([
    ["process.exit", "export default { execute() { process.exit(3); } };"],
    ["an imported exit", 'import { exit } from "node:process"; export default { execute: () => exit(3) };'],
    ["process.abort", "export default { execute() { process.abort(); } };"],
    ["a signal to itself", "export default { execute() { process.kill(process.pid); } };"],
  ])("%s throws in the plugin", async (_, plugin) => {
    const { exitCode, said } = await runInProcess(plugin);
    expect(exitCode).toBe(0);
    expect(said.attempt).toMatchObject({
      isOk: false,
      isRetryable: false,
      text: expect.stringContaining("tried to end the process"),
    });
  });

  test("what it writes to standard output goes to the log, and its own log is left alone", async () => {
    const { said } = await runInProcess(
      "export default { execute(tool, input, { log }) { console.log('hello'); log.info({ n: 1 }, 'noted'); process.stdout.write('there'); return 'done'; } };",
    );
    expect(said.attempt.text).toBe("done");
    expect(said.logged).toMatchObject([{ output: "hello" }, { n: 1, message: "noted" }, { output: "there" }]);
  });

  test.each([
    ["a timer", "setTimeout(() => { throw new Error('stray'); }, 1)"],
    ["a promise nobody waits for", "Promise.reject(new Error('stray'))"],
    ["a promise that fails later", "new Promise((_, reject) => setTimeout(() => reject(new Error('stray')), 1))"],
  ])("what it throws in %s is logged, and the process goes on", async (_, body) => {
    const { exitCode, said } = await runInProcess(`export default { execute() { ${body}; return 'done'; } };`, {
      untilLogged: true,
    });
    expect(exitCode).toBe(0);
    expect(said.attempt.text).toBe("done");
    expect(said.logged).toMatchObject([{ error: "stray", message: "a plugin threw outside of its call" }]);
  });

  test("an uncaught error of the bot's own still ends it", async () => {
    const after =
      "setTimeout(() => { throw new Error('our own'); }, 1); await new Promise((resolve) => setTimeout(resolve, 5_000));";
    const { exitCode, stderr } = await runInProcess("export default { execute: () => 'done' };", { after });
    expect(exitCode).toBe(1);
    expect(stderr).toContain("our own");
  });
});
