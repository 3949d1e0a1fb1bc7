import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createFileWriter, writeFileAtomic } from "../../src/lib/atomic-write.ts";

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "remora-files-"));
  path = join(folder, "deeper", "still", "file.md");
});
afterEach(() => rm(folder, { recursive: true }));

describe("an atomic write", () => {
  test("makes missing folders, replaces the whole text, and leaves nothing beside it", async () => {
    await writeFileAtomic(path, "the first, longer text");
    await writeFileAtomic(path, "second");
    expect(await readFile(path, "utf8")).toBe("second");
    expect(await readdir(join(folder, "deeper", "still"))).toEqual(["file.md"]);
  });

  test("does not replace what is not a regular file", async () => {
    await expect(writeFileAtomic(folder, "text")).rejects.toThrow("is not a regular file");
  });

  test("is made again when another process takes its temporary file for one that a crash left", async () => {
    const text = "a".repeat(2_000_000);
    let removed = 0;
    for (let round = 0; round < 20; round += 1) {
      let isWriting = true;
      const writing = writeFileAtomic(path, `${round}${text}`).finally(() => {
        isWriting = false;
      });
      for (let isLeft = true; isLeft && isWriting; ) {
        const names = await readdir(join(folder, "deeper", "still")).catch(() => []);
        const [temporary] = names.filter((name) => name !== "file.md");
        if (temporary === undefined) continue;
        isLeft = false;
        await rm(join(folder, "deeper", "still", temporary)).then(
          () => (removed += 1),
          () => {},
        );
      }
      await writing;
      expect((await readFile(path, "utf8")).slice(0, 4)).toBe(`${round}aaaa`.slice(0, 4));
    }
    expect(removed).toBeGreaterThan(0);
  });

  test("keeps the file's permissions", async () => {
    await writeFileAtomic(path, "a");
    await chmod(path, 0o600);
    await writeFileAtomic(path, "b");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test("that fails rejects and leaves no half-written file", async () => {
    await mkdir(path, { recursive: true });
    await expect(writeFileAtomic(path, "a")).rejects.toThrow();
    expect(await readdir(join(folder, "deeper", "still"))).toEqual(["file.md"]);
    await writeFile(join(folder, "plain"), "");
    await expect(writeFileAtomic(join(folder, "plain", "file.md"), "a")).rejects.toThrow();
  });

  test("never shows a reader anything but a whole text", async () => {
    const texts = ["a".repeat(200_000), "b".repeat(200_000)];
    await writeFileAtomic(path, texts[0] ?? "");
    let isWriting = true;
    const writes = (async () => {
      for (let round = 0; round < 20; round += 1) await writeFileAtomic(path, texts[round % 2] ?? "");
      isWriting = false;
    })();
    while (isWriting) expect(texts).toContain(await readFile(path, "utf8"));
    await writes;
  });
});

describe("a file writer", () => {
  test("lets changes of one path follow each other, so that none is lost", async () => {
    const files = createFileWriter();
    await Promise.all(
      Array.from({ length: 30 }, (_, index) => files.update(path, (current = "") => `${current}${index}\n`)),
    );
    expect(await readFile(path, "utf8")).toBe(Array.from({ length: 30 }, (_, index) => `${index}\n`).join(""));
  });

  test("writes in the order it was asked to, however the path is spelled", async () => {
    const files = createFileWriter();
    const spelled = join(folder, "deeper", "other", "..", "still", "file.md").replace("still/", "still/./");
    await Promise.all([files.write(path, "1"), files.write(spelled, "2"), files.write(path, "3")]);
    expect(await readFile(path, "utf8")).toBe("3");
  });

  test("a change that returns undefined writes nothing, and one that throws rejects without harm to the next", async () => {
    const files = createFileWriter();
    await files.update(path, () => undefined);
    await expect(readFile(path)).rejects.toThrow();
    const broken = files.update(path, () => {
      throw new Error("a bug");
    });
    const next = files.write(path, "after");
    await expect(broken).rejects.toThrow("a bug");
    await next;
    expect(await readFile(path, "utf8")).toBe("after");
  });
});
