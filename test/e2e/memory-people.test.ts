/** Memory with the real process: private data stays private everywhere, and forgetting removes it. */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { remoraHere } from "../cli/remora-here.ts";
import { type ChatClient, createChatClient } from "../doubles/chat-client.ts";
import { createHome, type RemoraHome, type RunningRemora, startRemora } from "../doubles/remora-in-process.ts";

let home: RemoraHome;
let remora: RunningRemora;
let ann: ChatClient;
let ben: ChatClient;

async function connect(): Promise<void> {
  remora = await startRemora(home);
  ann = await createChatClient(remora.url, remora.token);
  ben = await createChatClient(remora.url, remora.token, "ben");
}

function disconnect(): void {
  ann.close();
  ben.close();
}

beforeEach(async () => {
  home = await createHome();
  await connect();
});
afterEach(async () => {
  disconnect();
  await remora.stop();
  await home.remove();
});

const dm = { dm: true } as const;

/** The agent's answer, after the turn is saved to memory. */
async function ask(person: ChatClient, text: string, place?: typeof dm): Promise<string> {
  const before = await finishedTurns();
  const { text: answer } = await person.answerTo(await person.say(text, place));
  await expect.poll(finishedTurns).toBe(before + 1);
  return answer;
}

async function command(person: ChatClient, name: string, rest = "", place?: typeof dm): Promise<string> {
  return (await person.command(name, rest, place)).text;
}

async function finishedTurns(): Promise<number> {
  const folder = join(home.workspace, "brain/corpus");
  const texts = await Promise.all((await namesIn("brain/corpus")).map((name) => readFile(join(folder, name), "utf8")));
  return texts.join("").match(/"event":"turn\.finished"/g)?.length ?? 0;
}

async function namesIn(folder: string): Promise<string[]> {
  const names = await readdir(join(home.workspace, folder), { recursive: true }).catch(() => []);
  return names.filter((name) => /\.(?:md|jsonl)$/.test(name)).sort();
}

async function textsIn(folder: string): Promise<string> {
  const names = await namesIn(folder);
  return (await Promise.all(names.map((name) => readFile(join(home.workspace, folder, name), "utf8")))).join("\n");
}

async function newestSnapshot(): Promise<string> {
  const name = (await namesIn("brain/prefrontal/.debug")).at(-1) ?? "";
  return await readFile(join(home.workspace, "brain/prefrontal/.debug", name), "utf8");
}

async function searchFromOutside(scope: string): Promise<string> {
  const args = ["memory", "search", "canaryword", "--scope", scope, "--json"];
  return (await remoraHere(dirname(home.data), ...args)).stdout;
}

/** An episode, a note, a decision and its digest in Ann's DM. */
async function fillDm(): Promise<void> {
  await ask(ann, "the first canaryword is said in passing", dm);
  await ask(ann, "remember that canaryword is the name of the harbour", dm);
  const before = await finishedTurns();
  const said = await ann.say("run echo canaryword > kept.txt with network example.com", dm);
  await ann.click(await ann.cardFor(said), "deny");
  await ann.answerTo(said);
  await expect.poll(finishedTurns).toBe(before + 1);
}

test("messages, notes and decisions of a DM stay out of everyone else's prompts, searches, notes and commands, even after a restart", async () => {
  await fillDm();
  expect(await textsIn("brain/hippocampus/episodes/dm:ann")).toContain("canaryword is said in passing");
  expect(await textsIn("brain/hippocampus/knowledge/dm:ann")).toContain("name of the harbour");
  expect(await textsIn("brain/basalganglia/dm:ann")).toContain("denied by Ann");

  for (const isRestarted of [false, true]) {
    if (isRestarted) {
      disconnect();
      await remora.stop();
      await connect();
    }
    for (const [person, place] of [
      [ann, undefined],
      [ben, undefined],
      [ben, dm],
    ] as const) {
      const answer = await ask(
        person,
        `${place === undefined ? "@remora " : ""}what about the canaryword harbour?`,
        place,
      );
      const snapshot = (await newestSnapshot()).replaceAll("what about the canaryword harbour?", "");
      expect(`${answer} ${snapshot}`).not.toMatch(/said in passing|name of the harbour|kept\.txt/);
      // Once per place, because each answer quotes what it found and is found by the next search.
      const call = `${place === undefined ? "@remora " : ""}call recall {"query":"canaryword harbour passing"}`;
      const recalled = isRestarted ? await ask(person, call, place) : "";
      expect(recalled).not.toMatch(/said in passing|name of the harbour|kept\.txt/);
      const shown = `${await command(person, "memory", "canaryword", place)} ${await command(person, "memory", "", place)}`;
      expect(shown).not.toMatch(/said in passing|name of the harbour|kept\.txt/);
    }
    expect(await searchFromOutside("channel:general")).not.toMatch(/said in passing|name of the harbour/);
    expect(await command(ben, "export", "", dm)).not.toMatch(/said in passing|name of the harbour/);
  }

  // Control: the search finds it where it belongs.
  expect(await command(ann, "memory", "canaryword", dm)).toMatch(/name of the harbour/);
  await ask(ann, "and now the canaryword?", dm);
  const own = await newestSnapshot();
  expect(own).toContain("name of the harbour");
  expect(own).toMatch(/shell_exec.*denied/);
  expect(await searchFromOutside("dm:ann")).toContain("name of the harbour");
});

test("forgetting a person needs confirmation, removes their data everywhere, and leaves other people's", async () => {
  await fillDm();
  await ask(ann, "@remora the canaryword is also said in public");
  const thread = [...ann.seen.values()].find((message) => message.text.includes("said in public"))?.id ?? "";
  await ask(ben, "@remora ben's own words");

  expect(await command(ann, "forget", "me")).toContain("`/remora forget me yes`");
  expect(await textsIn("brain/hippocampus")).toContain("said in passing");

  const done = await command(ann, "forget", "me yes");
  expect(done).toMatch(
    /Removed: \d+ memory files, 1 entry in a shared file, the history of 2 conversations, 2 task files/,
  );
  expect(done).toContain("Not removed: messages on the platform");
  for (const folder of ["brain/hippocampus", "brain/basalganglia", "brain/motor", "brain/prefrontal"]) {
    expect(await textsIn(folder)).not.toContain("canaryword");
  }
  expect(await textsIn("brain/hippocampus")).toContain("ben's own words");
  expect(await command(ann, "memory", "canaryword", dm)).toMatch(/I remember nothing here/);
  expect(await command(ann, "export", "", dm)).toBe("I remember nothing about you.");

  // Neither conversation continues its history.
  await ask(ann, "hello again", dm);
  expect(await newestSnapshot()).not.toContain("canaryword");
  const reply = await ann.say("hello again", { channel: "general", thread });
  await ann.answerTo(reply);
  expect(await newestSnapshot()).not.toContain("canaryword");
});

test("one member can't remove a channel's memory, but can remove their DM's", async () => {
  await ask(ann, "@remora the canaryword of all");
  await ask(ann, "the canaryword of one", dm);
  for (const scope of ["dm:ann", "channel:general"]) {
    await mkdir(join(home.workspace, "outputs", scope), { recursive: true });
    await writeFile(join(home.workspace, "outputs", scope, "long.txt"), "what a call had to say");
  }
  expect(await command(ann, "forget", "here yes")).toContain("only owners can remove it");
  expect(await command(ann, "forget", "here", dm)).toContain("`/remora forget here yes`");
  expect(await command(ann, "forget", "here yes", dm)).toContain("Removed: 2 memory files,");
  expect(await textsIn("brain/hippocampus")).toContain("canaryword of all");
  expect(await textsIn("brain/hippocampus")).not.toContain("canaryword of one");
  expect(await readdir(join(home.workspace, "outputs"))).toEqual(["channel:general"]);
});

test("a note is saved, shown, replaced, exported, and removed only after a click", async () => {
  expect(await ask(ann, 'call remember {"title":"Harbour","text":"It is open."}', dm)).toContain(
    "Saved for this DM or channel",
  );
  expect(await ask(ann, 'call remember {"title":"Harbour","text":"It is closed."}', dm)).toContain("It is open.");
  expect(await command(ann, "memory", "", dm)).toContain("Notes here: `harbour`");
  expect(await command(ann, "export", "", dm)).toContain("It is closed.");
  expect(await command(ann, "export")).toContain("in a direct message");
  expect(await ask(ann, 'call recall {"query":"closed"}', dm)).toContain("It is closed.");

  const said = await ann.say('call forget_note {"title":"harbour"}', dm);
  const card = await ann.cardFor(said);
  expect(card.card?.items[0]?.why.join()).toContain("deletes a note permanently");
  await ann.click(card, "approve");
  expect((await ann.answerTo(said)).text).toContain("Deleted the note");
  expect(await namesIn("brain/hippocampus/knowledge")).toEqual([]);
});

test("a shared note asks, and only an owner can write it", async () => {
  const said = await ann.say('call remember {"text":"Fridays are free.","shared":true}', dm);
  await ann.click(await ann.cardFor(said), "approve");
  expect((await ann.answerTo(said)).text).toContain("Saved for this DM or channel only, because only owners may share");
  expect(await namesIn("brain/hippocampus/knowledge")).not.toContain("shared");
});
