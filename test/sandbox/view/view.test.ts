/** What a command can do in a view, and where its writes go. */
import { createHash } from "node:crypto";
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { createWorkbench, patience } from "./workbench.ts";

const certificates = "/etc/ssl/certs";

describe("the working folder", () => {
  test("is read and written at its own path, and the real one does not change", async () => {
    const { folder, run } = createWorkbench();
    writeFileSync(join(folder, "old"), "old\n");
    const { output, exitCode, message, view } = await run("pwd; cat old; echo new > made; echo changed > old");
    expect(output).toBe(`${folder}\nold\n`);
    expect({ exitCode, message }).toEqual({ exitCode: 0, message: "" });
    expect(readdirSync(folder)).toEqual(["old"]);
    expect(readFileSync(join(folder, "old"), "utf8")).toBe("old\n");
    expect(readFileSync(join(view.merged, "old"), "utf8")).toBe("changed\n");
    await view.close();
    expect(readdirSync(view.upper ?? "").sort()).toEqual(["made", "old"]);
  });

  test("shows layers over it, the first on top, with their deletions", async () => {
    const { folder, run } = createWorkbench();
    for (const name of ["kept", "changed", "deleted"]) writeFileSync(join(folder, name), "folder");
    const first = await run("printf first > changed; rm deleted; mkdir -p sub; printf one > sub/one");
    await first.view.close();
    const second = await run("cat changed; printf second > changed; printf two > sub/two", {
      layers: [first.view.upper ?? ""],
    });
    expect(second.output).toBe("first");
    await second.view.close();
    const layers = [second.view.upper ?? "", first.view.upper ?? ""];
    const third = await run("cat kept changed sub/*; ls", { layers });
    expect(third.output).toBe("foldersecondonetwochanged\nkept\nsub\n");
  });

  test("marks a deletion as overlayfs does", async () => {
    const { folder, run } = createWorkbench();
    writeFileSync(join(folder, "gone"), "");
    const { view } = await run("rm gone");
    const mark = lstatSync(join(view.upper ?? "", "gone"));
    expect([mark.isCharacterDevice(), mark.rdev]).toEqual([true, 0]);
  });

  test.each(["with space", "comma,colon:back\\slash", "new\nline", "quote'\"$(echo no)`", "ünï – 漢", "-rf", "%s%n"])(
    "may be called %j",
    async (name) => {
      const { folder, run } = createWorkbench({}, name);
      writeFileSync(join(folder, "here"), "yes");
      const { output, view } = await run("cat here; echo made > made; pwd");
      expect(output).toBe(`yes${folder}\n`);
      expect(readdirSync(view.upper ?? "")).toEqual(["made"]);
    },
  );

  test("may lie below a folder of the system", async () => {
    const { place, run } = createWorkbench();
    const inside = join(place, "readable", "inner");
    mkdirSync(inside, { recursive: true });
    writeFileSync(join(place, "readable", "beside"), "beside");
    const { output, exitCode } = await run("cat ../beside; echo made > made; cat made; echo no > ../beside", {
      folder: inside,
      readable: [join(place, "readable")],
    });
    expect(output).toContain("besidemade\n");
    expect(output).toContain("Read-only file system");
    expect(exitCode).toBe(1);
    expect(readdirSync(inside)).toEqual([]);
  });

  test("has the mode of the real one", async () => {
    const { folder, run } = createWorkbench();
    mkdirSync(join(folder, "private"), { mode: 0o750 });
    const { output } = await run("stat -c %a .", { folder: join(folder, "private") });
    expect(output).toBe("750\n");
  });

  test.each([
    ["does not exist", "/does/not/exist", "ENOENT"],
    ["is the root", "/", "sandbox.folder"],
    ["belongs to the view", "/proc/1", "sandbox.folder"],
    ["is not written plainly", "/usr/../usr/lib", "sandbox.folder"],
  ])("is refused when it %s", async (_why, folder, code) => {
    const { open } = createWorkbench();
    await expect(open({ folder })).rejects.toMatchObject({ code });
  });

  test("is refused when a link leads to it", async () => {
    const { folder, place, run, open } = createWorkbench();
    await run("true");
    symlinkSync(folder, join(place, "link"));
    await expect(open({ folder: join(place, "link") })).rejects.toMatchObject({ code: "sandbox.missing" });
  });
});

describe("a command", () => {
  test.each([
    ["exit 3", { exitCode: 3 }],
    ["kill -TERM $$", { signal: "SIGTERM" }],
    ["kill -KILL $$", { signal: "SIGKILL" }],
    ["does-not-exist", { exitCode: 127 }],
  ])("%s: tells how it ended", async (command, end) => {
    const { exitCode, signal, message } = await createWorkbench().run(command);
    expect({ exitCode, signal }).toEqual({ exitCode: undefined, signal: undefined, ...end });
    expect(message).toMatch(/^The command .*\.$/);
  });

  test("keeps the order of standard output and standard error", async () => {
    const { output } = await createWorkbench().run("for i in 1 2 3 4 5 6 7 8 9; do echo o$i; echo e$i >&2; done");
    expect(output.trim().split("\n")).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9].flatMap((n) => [`o${n}`, `e${n}`]));
  });

  test("can open its outputs by name, and reads nothing from its input", async () => {
    const { output } = await createWorkbench().run("echo one > /dev/stderr; echo two > /dev/stdout; cat; echo end");
    expect(output).toBe("one\ntwo\nend\n");
  });

  test("gets a text of a megabyte to the letter", async () => {
    const { run } = createWorkbench();
    const long = `${"é".repeat(600_000)}'"$\\`;
    const { output, exitCode } = await run(`cat <<'EOF' | sha256sum\n${long}\nEOF\necho $?; exit 5`);
    expect(output).toBe(`${createHash("sha256").update(`${long}\n`).digest("hex")}  -\n0\n`);
    expect(exitCode).toBe(5);
  });

  test("that is far too long does not start, and says so", async () => {
    const { message, exitCode } = await createWorkbench().run(`: ${"x".repeat(5_000_000)}`);
    expect(message).toMatch(/did not start.*E2BIG/);
    expect(exitCode).toBeUndefined();
  });

  test("gets variables as they are, and none of this process", async () => {
    const value = "a b\n'\"$(id) \\ é";
    process.env.REMORA_TEST_SECRET = "secret";
    const { output } = await createWorkbench().run('printf %s "$GIVEN"; env', {}, { GIVEN: value });
    delete process.env.REMORA_TEST_SECRET;
    expect(output.startsWith(value)).toBe(true);
    expect(output).not.toContain("secret");
  });

  test("makes files whose names are not UTF-8", async () => {
    const { run } = createWorkbench();
    const { view, exitCode } = await run("touch $'bad\\xff\\xfename' $'new\\nline'; ls | wc -l");
    expect(exitCode).toBe(0);
    const names = readdirSync(view.merged, { encoding: "buffer" }).map((name) => name.toString("latin1"));
    expect(names.sort()).toEqual(["bad\u00ff\u00fename", "new\nline"]);
  });

  test("has a user with a name, a small /tmp, and programs that need /etc", async () => {
    const { output } = await createWorkbench().run(
      "id -un; id -u; echo x > /tmp/a; cat /var/tmp/a; awk 'BEGIN{print 6*7}'",
    );
    expect(output).toBe("user\n1000\nx\n42\n");
  });

  test.skipIf(!existsSync(`${certificates}/ca-certificates.crt`))(
    "has this machine's certificates, also those found by hash",
    async () => {
      const { output } = await createWorkbench().run(
        `LC_ALL=C ls -A ${certificates}; head -c 5 ${certificates}/ca-certificates.crt`,
      );
      expect(output).toBe(`${readdirSync(certificates).sort().join("\n")}\n-----`);
    },
  );

  test("runs at most once in a view", async () => {
    const { view } = await createWorkbench().run("true");
    expect(() => view.start({ text: "true" })).toThrow();
  });
});

describe("many views", () => {
  test("run at the same time without seeing each other", async () => {
    const { folder, run } = createWorkbench();
    writeFileSync(join(folder, "number"), "none");
    const numbers = Array.from({ length: 20 }, (_, number) => number);
    const all = await Promise.all(numbers.map((n) => run(`cat number; printf ${n} > number; cat number; ls | wc -l`)));
    expect(all.map(({ output }) => output)).toEqual(numbers.map((n) => `none${n}1\n`));
  });

  test("end with the sandbox", async () => {
    const { sandbox, open, place } = createWorkbench();
    const views = await Promise.all([open(), open(), open()]);
    const running = views.map((view) => view.start({ text: "sleep 1000" }));
    await sandbox.close();
    const ends = await Promise.all(running.map(({ ended }) => ended));
    expect(ends.every(({ signal }) => signal === "SIGKILL")).toBe(true);
    expect(readdirSync(join(place, "sandbox"))).toEqual(["etc"]);
    await expect(open()).rejects.toThrow();
  });
});

test("an aborted opening leaves nothing behind", async () => {
  const { sandbox, folder, scratch } = createWorkbench();
  await sandbox.probe();
  const controller = new AbortController();
  const opening = sandbox.open({ folder, layers: [], scratch: scratch() }, controller.signal);
  controller.abort(new Error("not wanted any more"));
  await expect(opening).rejects.toThrow("not wanted any more");
  const view = await sandbox.open({ folder, layers: [], scratch: scratch() }, patience());
  const running = view.start({ text: "ls /proc | grep -c '^[0-9]'" });
  expect(Number(await text(running.output))).toBeGreaterThan(0);
});
