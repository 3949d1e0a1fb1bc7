/** What Allow on a card of changes covers, as part of the story of changes: judged by the folder, the posts, and what ran. */
import { execFile } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";
import type { ChangesDriver, SeenCard, Thread } from "./changes-story.ts";

export interface GrantsWorld {
  driver: ChangesDriver;
  /** The configured folder. */
  site: string;
  /** Resolves to the newest card when it has this text and these buttons, and there are so many. */
  card(thread: Thread, says: RegExp, buttons: string[], count: number): Promise<SeenCard>;
}

const run = (command: string) => `call shell_exec ${JSON.stringify({ command })}`;
const exec = promisify(execFile);
const pollMs = 30_000;

/** `world` is called in each test. */
export function tellGrants(world: () => GrantsWorld): void {
  test("Allow covers later edits of text and names them, and never what git runs by itself", async () => {
    const { driver, site, card } = world();
    const git = (...args: string[]) => exec("git", args, { cwd: site });
    await git("init", "--quiet");
    const thread = await driver.ask(run("echo b >> README.md"));
    await card(thread, /Add 1 file in site/, ["Approve"], 1);
    await thread.allow();
    await card(thread, /Ann approved/, ["Undo", "End this permission"], 1);

    await thread.say(run("echo c >> README.md; echo 'export {}' > index.ts"));
    const kept = await card(thread, /Ann had allowed .* in advance\. Kept 2 files/, ["Undo"], 2);
    for (const shown of ["README.md", "index.ts"]) expect(kept.text).toContain(shown);
    expect(await readFile(join(site, "README.md"), "utf8")).toBe("b\nc\n");

    const monitor = "printf '[core]\\n\\tfsmonitor = touch RAN; false\\n'";
    const bare = `mkdir -p docs/objects docs/refs; echo ref: refs/heads/x > docs/HEAD; ${monitor} > docs/config`;
    await thread.say(run(`${monitor} >> .git/config; ${bare}; echo d >> README.md`));
    const asking = await card(thread, /Change 2 and add 2 files in site/, ["Approve", "Deny"], 3);
    expect(asking.text).toMatch(/\.git\/config.*can run by itself outside the sandbox/s);
    expect(asking.text).toMatch(/docs\/.*has files that can run by themselves outside the sandbox/s);
    await git("status", "--short");
    expect(await readdir(site)).not.toContain("RAN");
    // What was shown and approved does run, so the check above means something.
    await thread.press("Approve");
    await card(thread, /Ann approved/, ["Undo"], 3);
    await vi.waitFor(async () => expect(await readdir(site)).toContain("docs"), pollMs);
    await git("status", "--short");
    expect(await readdir(site)).toContain("RAN");
  });

  test("Allow after one deletion does not cover deleting everything", async () => {
    const { driver, site, card } = world();
    const names = Array.from({ length: 60 }, (_, number) => `f${number}.txt`);
    for (const name of names) await writeFile(join(site, name), `text ${name}\n`);
    const thread = await driver.ask(run("rm f0.txt"));
    await card(thread, /Delete 1 file in site/, ["Approve"], 1);
    await thread.allow();
    await card(thread, /Ann approved/, ["Undo"], 1);
    await vi.waitFor(async () => expect(await readdir(site)).not.toContain("f0.txt"), pollMs);

    await thread.say(run("rm f1.txt"));
    const kept = await card(thread, /Ann had allowed .* in advance/, ["Undo"], 2);
    expect(kept.text).toContain("f1.txt");
    const before = await readdir(site);
    for (const [turn, command] of ["rm -rf ./*", 'for f in *; do : > "$f"; done'].entries()) {
      await thread.say(run(command));
      await card(thread, /more than 20 files/, ["Approve", "Deny"], 3 + turn);
      await thread.press("Deny");
      await card(thread, /Ann denied/, [], 3 + turn);
      expect(await readdir(site)).toEqual(before);
      expect(await readFile(join(site, "f2.txt"), "utf8")).toBe("text f2.txt\n");
    }
  });
}
