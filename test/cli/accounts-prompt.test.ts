/** `remora accounts` asks for passwords on a terminal, without showing them. */
import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { environmentOf, remora, temporaryFolder } from "./remora-command.ts";

const project = resolve(import.meta.dirname, "../..");

/** Types each line once its question is there. `script` of util-linux gives the program a terminal. */
async function onTerminal(home: string, command: string, answers: [question: string, line: string][]) {
  // Without a size, each character would be on a line of its own.
  const program = `stty cols 100 rows 30; exec ${process.execPath} src/remora.mjs ${command}`;
  const child = spawn("script", ["-qec", program, "/dev/null"], {
    cwd: project,
    env: { ...environmentOf(home), TERM: "xterm", NO_COLOR: "1" },
  });
  let shown = "";
  let asked = 0;
  child.stdout.on("data", (chunk) => {
    shown += chunk;
    const [question, line] = answers[asked] ?? [];
    if (question === undefined || !shown.includes(question)) return;
    asked += 1;
    child.stdin.write(`${line}\r`);
  });
  const code = await new Promise((done) => child.once("close", done));
  return { code, shown };
}

test.skipIf(process.platform !== "linux")(
  "a password is asked for twice and never shown, and two that differ change nothing",
  async () => {
    const home = await temporaryFolder();
    const [password, again] = ["correct horse battery", "The same password again"];
    const differing = await onTerminal(home, "accounts add ann --role viewer", [
      ["Password", password],
      [again, "incorrect horse battery"],
    ]);
    expect(differing).toMatchObject({ code: 1, shown: expect.stringContaining("The two passwords differ") });
    expect((await remora(home, "accounts", "list", "--json")).stdout).toBe("[]\n");

    const added = await onTerminal(home, "accounts add ann --role viewer", [
      ["Password", "short"],
      ["at least 12 characters", `\u0015${password}`],
      [again, password],
    ]);
    expect(added).toMatchObject({ code: 0, shown: expect.stringContaining("Added ann with the role viewer.") });
    for (const { shown } of [differing, added]) expect(shown).not.toContain("horse");
    expect(JSON.parse((await remora(home, "accounts", "list", "--json")).stdout)).toMatchObject([
      { name: "ann", role: "viewer" },
    ]);

    const left = await onTerminal(home, "accounts password ann", [["Password", "\u0003"]]);
    expect(left).toMatchObject({ code: 1, shown: expect.stringContaining("nothing was changed") });
  },
);
