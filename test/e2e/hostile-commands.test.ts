/**
 * Commands that try to exhaust the machine or leave something behind. Each ends with a clear result, the bot keeps answering,
 * nothing real changes, and nothing is left.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isWhole } from "../faults/share.ts";
import { type HealthWatch, watchHealth } from "./oracle/health-watch.ts";
import { createInspector, type Inspector } from "./oracle/inspect.ts";
import { type CallOutcome, runCalls } from "./oracle/run-calls.ts";
import { createOracleWorld, type OracleWorld } from "./oracle/world.ts";

/** Enough time to reach a limit, even on a busy machine. */
const commandSeconds = 100;
const testMs = 400_000;
/** `npm run chaos` takes the large numbers; a plain run exceeds the same limits. */
const deepFolders = isWhole ? 1_000 : 210;
/** Deleting drafts of many files takes long on a slow, shared disk. */
const clearedMs = 180_000;
const manyFiles = isWhole ? 20_000 : 200;

let world: OracleWorld;
let inspector: Inspector;
let health: HealthWatch;
beforeAll(async () => {
  world = await createOracleWorld({ skills: { settings: { shell: { seconds: commandSeconds } } } });
  inspector = createInspector(world);
  health = watchHealth(world.remora.url);
});
afterAll(() => world?.close(), testMs);

async function run(command: string): Promise<string> {
  const [outcome] = (await runCalls(world, [{ command }])) as [CallOutcome];
  expect(outcome.fate).toBe("ran");
  return outcome.result ?? "";
}

/** Denies the turn's changes, then checks that no draft or process is left. */
async function expectNothingLeft(): Promise<void> {
  const { person, places } = world;
  await expect
    .poll(
      async () => {
        const cards = [...person.seen.values()].filter(({ type, state }) => type === "card" && state === "waiting");
        for (const card of cards) await person.click(card, "deny");
        // What remains is looked for in all files.
        const open = readdirSync(join(places.WORKSPACE, "drafts/open"));
        return open.length > 0 ? open : inspector.remains();
      },
      { timeout: clearedMs, interval: 300 },
    )
    .toEqual([]);
  expect(inspector.violations()).toEqual([]);
}

const notKept = "None of its changes were kept";
/** They write or use gigabytes. In a plain run, test/sandbox/view/limits.test.ts reaches lower limits of the same kinds. */
const expensive: string[][] = isWhole
  ? [
      [
        "the disk with one file",
        "dd bs=1M count=3000 of=big < /dev/zero",
        "File size limit exceeded|it wrote more than",
      ],
      [
        "memory",
        "for i in 1 2 3 4 5 6 7 8; do python3 -c 'x = bytearray(400 << 20); import time; time.sleep(90)' & done; wait",
        `it used more than 2.0 GiB of memory.*${notKept}`,
      ],
      [
        "names",
        'python3 -c \'for i in range(1000000): open(f"many-{i}", "w").close()\'',
        `it created more than 100,?000 files.*${notKept}`,
      ],
    ]
  : [];

describe("a command that uses up", () => {
  test.each([
    [
      "the disk",
      'i=0; while fallocate -l 300M "big-$i"; do i=$((i + 1)); done',
      `it wrote more than 2.0 GiB.*${notKept}`,
    ],
    ["processes", "while :; do sleep 90 & done", `it ran more than 512 processes and threads.*${notKept}`],
    ["memory in one process", "python3 -c 'x = bytearray(10 << 30)'", "MemoryError"],
    ["output", "head -c 10G /dev/zero | tr '\\0' x", "wrote more than 64 MiB; none of its changes were kept"],
    [
      "/tmp",
      "head -c 1G /dev/zero > /tmp/big; df --output=used /tmp | tail -1; rm /tmp/big",
      "No space left on device",
    ],
    ["open files", "python3 -c 'x = [open(\"a.txt\") for _ in range(100000)]'", "Too many open files"],
    ...expensive,
  ])("%s is told so, and leaves nothing", { timeout: testMs }, async (_name, command, said) => {
    expect(await run(command)).toMatch(new RegExp(said, "s"));
    await expectNothingLeft();
  });

  test("time can be stopped by the person who asked", { timeout: testMs }, async () => {
    const { person, model, channel } = world;
    const batch = model.add([[{ command: "echo x > new.txt; setsid sleep 100000 & sleep 100000" }]]);
    const said = await person.say(`@remora batch ${batch}`, { channel });
    await expect.poll(() => inspector.remains().join(), { timeout: 60_000 }).toContain("sleep");
    await person.command("stop", "", { channel, thread: said.id });
    await expectNothingLeft();
  });
});

describe("a command that leaves", () => {
  const python = (code: string) => `python3 - <<'EOF'\n${code}\nEOF`;
  test.each([
    [
      "sockets and pipes",
      `mkfifo p; echo x > kept; ${python("import socket\nfor i in range(3): socket.socket(socket.AF_UNIX).bind(f's{i}')")}`,
      "4 sockets, pipes or devices were not kept",
    ],
    ["device files", "mknod disk b 254 0; mknod null c 1 3", "Operation not permitted"],
    ["immutable files", "touch i; chattr +i i; chattr -R +a .; lsattr i", "Operation not permitted|not supported"],
    [
      "names with newlines and bytes that are no text",
      `touch $'new\\nname' $'\\xff\\xfe' $'\\e[2J' ' ' -- -rf; mkdir $'\\xc3\\x28'; echo x > $'\\xc3\\x28/\\n'; ls | wc -l`,
      "\\(exit code 0\\)",
    ],
    ["folders that nobody may enter", "mkdir -p locked/in; touch locked/in/x; chmod 0 locked/in locked", "exit code 0"],
    [
      "folders deeper than the limit",
      // The shell's cd looks at each folder above, again and again.
      python(`import os\nfor _ in range(${deepFolders}): os.mkdir("d"); os.chdir("d")\nopen("x", "w")`),
      "200 levels deep",
    ],
    [
      "links to everything outside",
      "rm -rf src && ln -s @OUTSIDE@ src && ln -s / all && ln -s /proc/self/fd fds; echo x > src/secret.txt",
      "No such file or directory",
    ],
    [
      "processes that refuse to end",
      "trap '' TERM INT HUP; (setsid sh -c 'trap \"\" TERM; sleep 9999' &) ; echo ok",
      "ok",
    ],
    ["zombies", `echo ok; ${python("import os\nfor _ in range(200):\n  if os.fork() == 0: os._exit(0)")}`, "ok"],
    [
      "files of nothing but holes",
      "for i in $(seq 50); do truncate -s 900M sparse-$i; done; du -s .",
      "files are larger than 4.0 GiB in total",
    ],
  ])("%s has a clear result, and what is not kept goes away", { timeout: testMs }, async (_name, command, said) => {
    expect(await run(command)).toMatch(new RegExp(said, "s"));
    await expectNothingLeft();
  });
});

describe("a large folder", () => {
  test(`of ${manyFiles} files is read at once, and changing all of it is told to be too much or asked about`, {
    timeout: testMs,
  }, async () => {
    const many = join(world.places.FOLDER, "many");
    mkdirSync(many);
    for (let i = 0; i < manyFiles; i += 1) writeFileSync(join(many, `file-${i}`), `${"x".repeat(99)}\n`);
    inspector = createInspector(world);
    expect(await run("ls many | wc -l; cat many/* 2>&1 | wc -c; find many -type f | xargs cat | wc -c")).toContain(
      String(manyFiles * 100),
    );
    await expectNothingLeft();
    const changed = await run("find many -type f -print0 | xargs -0 sed -i s/x/y/; cat many/file-7");
    expect(changed).toMatch(/^yx+$|stopped after|it created more than|None of this call.s changes were kept/m);
    await expectNothingLeft();
    const deleted = await run("rm -rf many; ls many");
    expect(deleted).toContain("No such file or directory");
    await expectNothingLeft();
    execFileSync("rm", ["-rf", many]);
    inspector = createInspector(world);
  });

  test("with a 2 GB file is readable, and changing that file ends at a named limit", {
    timeout: testMs,
  }, async () => {
    const large = join(world.places.FOLDER, "large");
    execFileSync("fallocate", ["-l", "2G", large]);
    // Unwritten space reads as a hole, so write some of it.
    execFileSync("dd", ["if=/dev/urandom", `of=${large}`, "bs=1M", "count=64", "conv=notrunc", "status=none"]);
    inspector = createInspector(world);
    expect(await run("stat -c %s large; head -c 1000 large | wc -c")).toContain("2147483648\n1000");
    await expectNothingLeft();
    const changed = await run("printf x >> large; ls -l large; cp large copy; ls -l copy");
    expect(changed).toMatch(/File too large|File size limit exceeded|it wrote more than/);
    await expectNothingLeft();
    execFileSync("rm", [large]);
    inspector = createInspector(world);
  });
});

test("the bot always answered, and stops cleanly", { timeout: testMs }, async () => {
  const { asked, slowestMs, late } = await health.stop();
  console.log(`hostile commands: /healthz asked ${asked} times, slowest ${slowestMs} ms`);
  expect(late).toEqual([]);
  expect(existsSync(join(world.places.FOLDER, "a.txt"))).toBe(true);
  expect(await world.remora.stop()).toBe(0);
});
