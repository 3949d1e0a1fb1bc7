import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { createLog } from "../../src/lib/create-log.ts";
import { logContext } from "../../src/lib/log-context.ts";

async function logTo(folder: string) {
  const lines: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  }) as unknown as NodeJS.WriteStream;
  const log = await createLog("info", (text) => text.replaceAll("hush", "[secret]"), { stream, folder });
  return { log, lines };
}

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "remora-logs-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

test("each line goes to the stream and to today's file, without secrets, with the turn it belongs to", async () => {
  const folder = join(await emptyFolder(), "logs");
  const { log, lines } = await logTo(folder);
  log.info({ token: "hush" }, "before");
  await logContext.run({ turnId: "t1" }, async () => {
    await Promise.resolve();
    log.warn({}, "during hush");
  });
  log.info({}, "after");
  const [name = ""] = await readdir(folder);
  expect(name).toMatch(/^\d{4}-\d\d-\d\d\.jsonl$/);
  const kept = (await readFile(join(folder, name), "utf8")).trimEnd().split("\n");
  expect(kept).toEqual(lines.map((line) => line.trimEnd()));
  expect(kept.map((line) => JSON.parse(line))).toMatchObject([
    { msg: "before", token: "[secret]" },
    { msg: "during [secret]", turnId: "t1" },
    { msg: "after" },
  ]);
  expect(kept[2]).not.toContain("turnId");
});

test("a folder that can't be written does not disturb the log", async () => {
  const inTheWay = join(await emptyFolder(), "file");
  await writeFile(inTheWay, "");
  const { log, lines } = await logTo(join(inTheWay, "logs"));
  log.info({}, "still here");
  expect(lines).toHaveLength(1);
});
