import { readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createChatClient } from "../doubles/chat-client.ts";
import { createHome, startRemora } from "../doubles/remora-in-process.ts";

test("a closed agent holds no file open", async () => {
  const home = await createHome();
  // An unknown name is a line of the log.
  const remora = await startRemora(home, { REMORA_NAME_OF_NOTHING: "1" });
  const ann = await createChatClient(remora.url, remora.token);
  await ann.say("@remora hello", { channel: "general" });
  await ann.waitFor(({ author, state, type }) => author.isBot && type === "message" && state === "done");
  ann.close();
  expect(await openFilesIn(join(home.data, "logs"))).toHaveLength(1);
  await remora.stop();
  expect(await openFilesIn(home.data)).toEqual([]);
  expect(await openFilesIn(home.workspace)).toEqual([]);
  await home.remove();
});

async function openFilesIn(folder: string): Promise<string[]> {
  const names = await readdir("/proc/self/fd");
  const targets = await Promise.all(names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => "")));
  return targets.filter((target) => target.startsWith(folder));
}
