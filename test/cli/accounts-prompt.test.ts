/** `remora accounts` asks for passwords on a terminal, without showing them. */
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { keys, openTerminal } from "../doubles/terminal.ts";
import { environmentOf, remora, temporaryFolder } from "./remora-command.ts";

const project = resolve(import.meta.dirname, "../..");
const password = "correct horse battery";
const again = "The same password again";

test("a password is asked for twice and never shown, and two that differ change nothing", async () => {
  const home = await temporaryFolder();
  const accounts = (...words: string[]) =>
    openTerminal([process.execPath, "src/remora.mjs", "accounts", ...words], {
      ...{ cwd: project, env: environmentOf(home), timeoutMs: 60_000 },
    });
  const differing = accounts("add", "ann", "--role", "viewer");
  await differing.shows("Password");
  differing.press(password, keys.enter);
  await differing.shows(again);
  differing.press("incorrect horse battery", keys.enter);
  await differing.shows("The two passwords differ");
  expect(await differing.exited).toBe(1);
  expect((await remora(home, "accounts", "list", "--json")).stdout).toBe("[]\n");

  const added = accounts("add", "ann", "--role", "viewer");
  await added.shows("Password");
  added.press("short", keys.enter);
  await added.shows("at least 12 characters");
  // Ctrl+U clears the line.
  added.press("\u0015", password, keys.enter);
  await added.shows(again);
  added.press(password, keys.enter);
  await added.shows("Added ann with the role viewer. Sign in at ");
  expect(await added.exited).toBe(0);
  for (const terminal of [differing, added]) expect(terminal.printed()).not.toContain("horse");

  const left = accounts("password", "ann");
  await left.shows("Password");
  left.press(keys.ctrlC);
  await left.shows("nothing was changed");
  expect(await left.exited).toBe(1);
});
