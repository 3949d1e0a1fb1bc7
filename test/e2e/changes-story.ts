/**
 * One story for the page, Slack and Discord: a turn changes a configured folder and people answer its card. It uses the real
 * process, a scripted model and real clicks.
 */
import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { type CallingModel, startCallingModel } from "../doubles/calling-model.ts";
import { createHome, type RemoraHome, type RunningRemora, startRemora } from "../doubles/remora-in-process.ts";
import { processesWith } from "./durability-world.ts";
import { tellGrants } from "./grants-story.ts";

/** A card about changes, as people see it. */
export interface SeenCard {
  text: string;
  buttons: string[];
}

/** A person's request and its thread. */
export interface Thread {
  /** Writes the thread's next message. */
  say(text: string): Promise<void>;
  /** The agent's messages in it, without cards. */
  answers(): Promise<string>;
  /** Its cards, oldest first. */
  cards(): Promise<SeenCard[]>;
  /** Clicks on the newest card. `by` is the person who asked, or somebody without rights here. */
  press(button: string, by?: "Ann" | "Ben"): Promise<void>;
  /** Approves the newest card and allows its like for 30 minutes, as the person who asked. */
  allow(): Promise<void>;
  /** Keeps only these files, through the form of Choose files…. */
  choose(paths: string[]): Promise<void>;
  /** Everything that Ann can read of the newest card: its text, its files, and what Show diff gives her. */
  whole(): Promise<string>;
}

export interface ChangesDriver {
  /** The conversation of the folder, as named in `folders`. */
  conversation: string;
  env: Record<string, string>;
  connect(remora: RunningRemora): Promise<void>;
  /** Ann mentions the agent. */
  ask(text: string): Promise<Thread>;
  close(): Promise<void>;
}

const pollMs = 30_000;
const call = (tool: string, input: object) => `call ${tool} ${JSON.stringify(input)}`;
const run = (command: string) => call("shell_exec", { command });
const before = { "a.txt": "one\ntwo\n", "b.txt": "bye\n" };
const after = { "a.txt": "one\ntwo\nthree\n", "c.txt": "new\n" };
const edits = [
  run("rm b.txt && cat a.txt"),
  call("edit_file", { path: "a.txt", old_text: "two\n", new_text: "two\nthree\n" }),
  run("echo new | tee c.txt"),
].join(" then ");

/** Registers the tests. Call it inside a `describe`. */
export function tellChanges(create: () => Promise<ChangesDriver>): void {
  let home: RemoraHome;
  let model: CallingModel;
  let driver: ChangesDriver;
  let remora: RunningRemora;
  let site: string;

  beforeAll(async () => {
    [home, model, driver] = await Promise.all([createHome(), startCallingModel(), create()]);
    site = join(dirname(home.data), "site");
    await mkdir(site);
    const config = join(dirname(home.data), "remora.yaml");
    await writeFile(config, JSON.stringify({ folders: { [driver.conversation]: site } }));
    const models = { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url };
    remora = await startRemora(home, { ...driver.env, ...models, REMORA_CONFIG: config });
    await driver.connect(remora);
  });
  afterAll(async () => {
    await driver.close();
    await remora.stop();
    await Promise.all([model.close(), home.remove()]);
  });
  beforeEach(async () => {
    for (const name of await readdir(site)) await rm(join(site, name), { recursive: true });
    for (const [name, text] of Object.entries(before)) await writeFile(join(site, name), text);
  });

  async function folder(): Promise<Record<string, string>> {
    const names = (await readdir(site)).sort();
    const entries = names.map(async (name) => [name, await readFile(join(site, name), "utf8")] as const);
    return Object.fromEntries(await Promise.all(entries));
  }

  const folderIs = (wanted: object) => vi.waitFor(async () => expect(await folder()).toEqual(wanted), pollMs);
  /** Decided drafts leave nothing on disk. */
  const noDraftIsLeft = () =>
    vi.waitFor(async () => expect(await readdir(join(home.workspace, "drafts/open"))).toEqual([]), pollMs);

  /** Resolves to the newest card when it has this text and these buttons. */
  async function card(thread: Thread, says: RegExp, buttons: string[], count = 1): Promise<SeenCard> {
    return await vi.waitFor(async () => {
      const cards = await thread.cards();
      const newest = cards.at(-1);
      expect(newest?.text).toMatch(says);
      expect(newest?.buttons).toEqual(expect.arrayContaining(buttons));
      if (buttons.length === 0) expect(newest?.buttons).toEqual([]);
      expect(cards).toHaveLength(count);
      return newest as SeenCard;
    }, pollMs);
  }

  async function edited(): Promise<Thread> {
    const thread = await driver.ask(edits);
    const { text } = await card(thread, /Delete 1, change 1 and add 1 file in site/, [
      "Approve",
      "Deny",
      "Choose files…",
    ]);
    expect(await thread.answers()).toContain("Finished. The tool said:");
    for (const shown of ["b.txt", "a.txt", "c.txt", "+three", "rm b.txt && cat a.txt", "exit code 0"])
      expect(text).toContain(shown);
    expect(await folder()).toEqual(before);
    return thread;
  }

  /** The model's request for the thread's next message. */
  async function toldNext(thread: Thread): Promise<string> {
    const words = `what now ${randomUUID()}`;
    await thread.say(words);
    return await vi.waitFor(() => {
      const request = model.requests.find((sent) => sent.includes(words));
      expect(request).toBeDefined();
      return request ?? "";
    }, pollMs);
  }

  tellGrants(() => ({ driver, site, card }));

  test("Approve keeps exactly what the card shows, a stranger's click does not, and Undo reverts it", async () => {
    const thread = await edited();
    await thread.press("Approve", "Ben");
    expect(await folder()).toEqual(before);
    await thread.press("Approve");
    await card(thread, /Ann approved/, ["Undo"]);
    await folderIs(after);
    await noDraftIsLeft();
    expect(await toldNext(thread)).toContain("Ann approved the changes in site, and they were kept.");
    await thread.press("Undo");
    await card(thread, /undone by Ann/, []);
    await folderIs(before);
  });

  test("Deny discards the changes, and the model is told", async () => {
    const thread = await edited();
    await thread.press("Deny");
    await card(thread, /Ann denied/, []);
    await noDraftIsLeft();
    expect(await folder()).toEqual(before);
    expect(await toldNext(thread)).toMatch(/The changes in site were not kept\. Ann denied the changes/);
  });

  test("chosen files are kept, the rest is discarded, and Undo reverts the chosen ones", async () => {
    const thread = await edited();
    await thread.choose(["a.txt"]);
    await card(thread, /Kept 1 file/, ["Undo"]);
    await folderIs({ ...before, "a.txt": after["a.txt"] });
    await noDraftIsLeft();
    expect(await toldNext(thread)).toContain("The other files were discarded.");
    await thread.press("Undo");
    await folderIs(before);
  });

  test("if somebody changed the folder, nothing is kept, and Do it again starts from the current folder", async () => {
    const thread = await edited();
    await writeFile(join(site, "a.txt"), "by hand\ntwo\n");
    await thread.press("Approve");
    const { text } = await card(thread, /Nothing was kept/, ["Do it again"]);
    expect(text).toContain("a.txt");
    expect(await folder()).toEqual({ ...before, "a.txt": "by hand\ntwo\n" });
    await thread.press("Do it again");
    await card(thread, /Delete 1, change 1 and add 1 file in site/, ["Approve", "Deny"], 2);
    expect(await folder()).toEqual({ ...before, "a.txt": "by hand\ntwo\n" });
    await thread.press("Approve");
    await folderIs({ ...after, "a.txt": "by hand\ntwo\nthree\n" });
  });

  test("the thread's next message continues the draft, and one card shows all of it", async () => {
    const thread = await edited();
    await thread.say(run("cat a.txt; echo four | tee d.txt"));
    await card(thread, /Delete 1, change 1 and add 2 files in site/, ["Approve"], 2);
    expect((await thread.cards())[0]?.buttons).toEqual([]);
    expect((await thread.cards())[0]?.text).toContain("Continued below");
    expect(await folder()).toEqual(before);
    await thread.press("Approve");
    await folderIs({ ...after, "d.txt": "four\n" });
  });

  test("whatever a turn changed and ran, each byte can be read from the card before it is approved", async () => {
    const thread = await driver.ask(
      [
        call("write_file", { path: "run.sh", content: "echo ok\necho PAYLOAD-1\n#\u0000\n" }),
        run("printf 'echo PAYLOAD-2\\n# caf\\351\\n' >> a.txt"),
        run(`printf 'echo ok %s; echo PAYLOAD-3' $(head -c 1100 /dev/zero | tr '\\0' a) > b.txt`),
        run("seq 6000 > long.txt; echo echo PAYLOAD-4 >> long.txt; for i in $(seq 30); do echo x > name-$i; done"),
        run("printf 'e\\0c\\0h\\0o\\0 \\0P\\0A\\0Y\\0L\\0O\\0A\\0D\\0-\\0005\\0\\n\\0' > wide.txt"),
        run(`: ${"y".repeat(400)}; echo PAYLOAD-6`),
        call("edit_file", { path: "name-29", old_text: "x", new_text: "PAYLOAD-7" }),
      ].join(" then "),
    );
    await card(thread, /Change 2 and add 33 files in site/, ["Approve", "Deny"]);
    const shown = await thread.whole();
    for (let payload = 1; payload <= 7; payload++) expect(shown).toContain(`PAYLOAD-${payload}`);
    for (let name = 1; name <= 30; name++) expect(shown).toContain(`name-${name}\n`);
    expect(shown).toContain("edit_file name-29");
    expect(shown).not.toMatch(/Binary file|not shown/);
    expect(await folder()).toEqual(before);
    await thread.press("Approve");
    await card(thread, /Kept 35 files/, ["Undo"]);
    expect(await readFile(join(site, "run.sh"), "utf8")).toBe("echo ok\necho PAYLOAD-1\n#\0\n");
  });

  test("what is too long to be shown whole can't be approved, and the card says so and what to do", async () => {
    const thread = await driver.ask(run("seq 2000000 > long.txt; echo PAYLOAD >> long.txt; printf bad > a.txt"));
    const { text, buttons } = await card(thread, /can't be approved/, ["Deny"]);
    expect(text).toMatch(/long\.txt/);
    expect(text).toMatch(/smaller steps/);
    for (const button of ["Approve", "Choose files…", "Allow"]) expect(buttons).not.toContain(button);
    await thread.press("Deny");
    await card(thread, /Ann denied/, []);
    expect(await folder()).toEqual(before);
  });

  test("however many files are deleted, card and diff point out what can run by itself, and show a script in a picture", async () => {
    for (let at = 0; at < 25; at++) await writeFile(join(site, `d${at}.txt`), `${at}\n`);
    for (let at = 0; at < 30; at++) await writeFile(join(site, `k${at}.txt`), `${at}\n`);
    // A shell joins these lines to `echo`, in what looks like a picture.
    const picture =
      "{ printf '\\211PNG\\r\\n\\032\\n:'; head -c 300000 /dev/zero | tr '\\0' '\\1'; printf '\\ne\\\\\\nc\\\\\\nh\\\\\\no\\n'; } > logo.png";
    const thread = await driver.ask(run(`rm d*.txt; printf 'all:\\n' > Makefile; ${picture}`));
    const { text } = await card(thread, /Delete 25 and add 2 files in site/, ["Approve", "Deny"]);
    expect(text).toMatch(/Makefile.*can run by itself outside the sandbox/);
    const warned = /b\/Makefile\nnew file mode 100644\nnote: can run by itself outside the sandbox\n/;
    await vi.waitFor(async () => expect(await thread.whole()).toMatch(warned), pollMs);
    expect(await thread.whole()).toMatch(/PNG picture\nWhat can be read in it:\n(?:.*\n)*\+e\\\n\+c\\\n\+h\\\n\+o\n/);
    await thread.press("Deny");
    await card(thread, /Ann denied/, []);
  });

  test.each([
    ["Keep", { "a.txt": before["a.txt"] }],
    ["Discard", before],
  ])("a turn that is stopped keeps nothing by itself: what it had done is a card, and %s", async (button, wanted) => {
    const seconds = `2718.${Math.floor(Math.random() * 1e9)}`;
    const thread = await driver.ask(`${run("rm b.txt")} then ${run(`touch late.txt; sleep ${seconds}`)}`);
    const running = () => processesWith("cmdline", `sleep ${seconds}`);
    await vi.waitFor(async () => expect(await running()).not.toEqual([]), pollMs);
    await thread.say("stop");
    const { text } = await card(thread, /stopped, so nothing was kept/, ["Keep", "Discard"]);
    expect(text).toMatch(/^(?:Ann asks: )?Delete 1 file in site$/m);
    expect(text).toContain(`touch late.txt; sleep ${seconds} — stopped`);
    // The queue's note about an interrupted call is not command output.
    expect(text).not.toContain("outcome is unknown");
    expect([await folder(), await running()]).toEqual([before, []]);
    await thread.press(button);
    await card(thread, button === "Keep" ? /Kept 1 file/ : /Ann discarded/, button === "Keep" ? ["Undo"] : []);
    await folderIs(wanted);
    await noDraftIsLeft();
  });
}
