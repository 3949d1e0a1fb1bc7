import {
  appendFileSync,
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { MemoryScope } from "../../src/ports/message.ts";
import { createMemoryFixture, episode, feedback, type MemoryFixture, noon } from "./fixture.ts";

let fixture: MemoryFixture;
beforeEach(() => {
  fixture = createMemoryFixture();
});
afterEach(() => fixture.remove());

const episodes = "brain/hippocampus/episodes/channel:general";
const knowledge = "brain/hippocampus/knowledge/channel:general";

async function find(query: string, scopes: MemoryScope[] = ["channel:general"], limit = 5) {
  return await fixture.memory.search({ query, scopes, limit });
}

async function headings(query: string): Promise<string[]> {
  return (await find(query)).map((hit) => hit.heading);
}

describe("files that people write", () => {
  test("are searched by heading, in episodes, knowledge and shared knowledge alike", async () => {
    fixture.write(
      `${episodes}/2023-05-08.md`,
      "# Monday\n\n## 13:56 — Caroline\n\nI went to a support group.\n\n### later\n\nTea.\n",
    );
    fixture.write(`${knowledge}/people.md`, "Bob likes olives.\n\n# Ann\n\nAnn dislikes olives.\n");
    fixture.write("brain/hippocampus/knowledge/shared/house/rules.md", "# Rules\n\nNo shoes.\n");
    expect(await find("support group")).toMatchObject([
      {
        path: `${episodes}/2023-05-08.md`,
        heading: "13:56 — Caroline",
        at: "2023-05-08T13:56:00.000Z",
        scope: "channel:general",
        text: "I went to a support group.",
      },
      { heading: "later" },
    ]);
    expect((await headings("olives")).sort()).toEqual(["Ann", "people"]);
    const [rule] = await find("shoes", ["channel:general", "shared"]);
    expect(rule).toMatchObject({ scope: "shared", path: "brain/hippocampus/knowledge/shared/house/rules.md", at: "" });
    expect(await find("shoes")).toEqual([]);
  });

  test("are followed as they are changed, renamed and deleted, in the same process and over restarts", async () => {
    fixture.write(`${knowledge}/a.md`, "# One\n\nThe anchor is blue.\n\n# Two\n\nThe rope is new.\n");
    expect(await headings("anchor")).toContain("One");
    fixture.write(`${knowledge}/a.md`, "# One\n\nThe mast is blue.\n\n# Two\n\nThe rope is new.\n");
    expect(await find("anchor")).toEqual([]);
    expect(await headings("mast")).toContain("One");
    fixture.write(`${knowledge}/b.md`, fixture.read(`${knowledge}/a.md`));
    rmSync(join(fixture.workspace, knowledge, "a.md"));
    expect((await find("mast")).map((hit) => hit.path)).toContain(`${knowledge}/b.md`);
    await fixture.memory.close();
    rmSync(join(fixture.workspace, knowledge, "b.md"));
    const again = fixture.reopen();
    expect(await again.search({ query: "mast", scopes: ["channel:general"], limit: 5 })).toEqual([]);
  });

  test("may have their scope's folder spelled in other ways", async () => {
    fixture.write("brain/hippocampus/knowledge/channel%3Ageneral/a.md", "The anchor is blue.");
    expect(await headings("anchor")).toEqual(["a"]);
  });

  test("are found at once in folders that come, go and are renamed, after a quiet time as in a row", async () => {
    const branch = join(fixture.workspace, "brain/hippocampus/knowledge");
    const scopeOf = (number: number) => `channel:${number}` as const;
    const note = (number: number) => `brain/hippocampus/knowledge/${scopeOf(number)}/a.md`;
    const found = async (number: number) => (await find("anchor", [scopeOf(number)])).length;
    for (let number = 0; number < 20; number++) {
      fixture.write(note(number), "The anchor is blue.");
      expect(await found(number)).toBe(1);
    }
    const longAgo = new Date(Date.now() - 60_000);
    utimesSync(branch, longAgo, longAgo);
    for (let look = 0; look < 2; look++) expect(await found(20)).toBe(0);
    fixture.write(note(20), "The anchor is blue.");
    expect(await found(20)).toBe(1);
    utimesSync(branch, longAgo, longAgo);
    for (let look = 0; look < 2; look++) expect(await found(20)).toBe(1);
    renameSync(join(branch, scopeOf(20)), join(branch, scopeOf(21)));
    expect([await found(20), await found(21)]).toEqual([0, 1]);
    rmSync(join(branch, scopeOf(21)), { recursive: true });
    expect(await found(21)).toBe(0);
  });

  test("may be binary, broken UTF-8, empty, or only headings", async () => {
    fixture.write(`${knowledge}/binary.md`, new Uint8Array([1, 0, 2, 0, 0xff]));
    fixture.write(`${knowledge}/latin1.md`, Buffer.from("Caf\xe9 opens. The anchor is blue.", "latin1"));
    fixture.write(`${knowledge}/empty.md`, "");
    fixture.write(`${knowledge}/headings.md`, "## Buy an anchor\n## Sell the boat\n");
    fixture.write(`${knowledge}/notes.txt`, "The anchor is not Markdown.");
    expect((await headings("anchor")).toSorted()).toEqual(["Buy an anchor", "Sell the boat", "latin1"].toSorted());
    expect(fixture.warnings.join()).toContain("binary.md is not searched");
  });

  test("that are links are not followed, so that no folder shows another scope's files", async () => {
    fixture.write("brain/hippocampus/knowledge/dm:ann/secret.md", "The canaryword is here.");
    mkdirSync(join(fixture.workspace, knowledge), { recursive: true });
    symlinkSync(
      join(fixture.workspace, "brain/hippocampus/knowledge/dm:ann/secret.md"),
      join(fixture.workspace, knowledge, "a.md"),
    );
    symlinkSync(
      join(fixture.workspace, "brain/hippocampus/knowledge/dm:ann"),
      join(fixture.workspace, "brain/hippocampus/knowledge/dm:bob"),
    );
    expect(await find("canaryword", ["channel:general", "dm:bob"])).toEqual([]);
  });

  test("may be 100 MB: the newest end is searched, and the loop goes on meanwhile", async () => {
    const path = join(fixture.workspace, knowledge, "huge.md");
    mkdirSync(dirname(path), { recursive: true });
    const file = openSync(path, "w");
    ftruncateSync(file, 100 * 1024 * 1024);
    const tail = `${"The sea is wide and the day is long.\n\n".repeat(230_000)}\n# End\n\nThe anchor is blue.\n`;
    writeSync(file, tail, 100 * 1024 * 1024 - tail.length);
    closeSync(file);
    let ticks = 0;
    const timer = setInterval(() => ticks++, 5);
    expect((await headings("anchor"))[0]).toBe("End");
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(5);
    expect(fixture.warnings.join()).toContain("search covers only the last 8388608");
  });
});

describe("the index", () => {
  test("is made again when it is damaged, of another version, or gone", async () => {
    await fixture.memory.saveEpisode(episode({ userText: "The anchor is blue." }));
    expect(await find("anchor")).toHaveLength(1);
    await fixture.memory.close();

    const damage: (() => void)[] = [
      () => writeFileSync(fixture.indexFile, "this is no database, and long enough to be looked at".repeat(100)),
      () => new DatabaseSync(fixture.indexFile).exec("PRAGMA user_version = 999"),
      () => rmSync(fixture.indexFile),
      () => overwritePages(fixture.indexFile),
    ];
    for (const harm of damage) {
      harm();
      const memory = fixture.reopen();
      const hits = await memory.search({ query: "anchor", scopes: ["channel:general"], limit: 5 });
      expect(hits.map((hit) => hit.heading)).toEqual(["12:00 — The anchor is blue."]);
      await memory.close();
    }
    expect(fixture.warnings.filter((warning) => warning.includes("rebuilds it")).length).toBeGreaterThanOrEqual(2);
  });

  test("leaves another program's database alone and is kept in memory then", async () => {
    mkdirSync(dirname(fixture.indexFile), { recursive: true });
    const other = new DatabaseSync(fixture.indexFile);
    other.exec("CREATE TABLE precious (value TEXT); INSERT INTO precious VALUES ('kept')");
    other.close();
    await fixture.memory.saveEpisode(episode({ userText: "The anchor is blue." }));
    expect(await find("anchor")).toHaveLength(1);
    await fixture.memory.close();
    expect(new DatabaseSync(fixture.indexFile).prepare("SELECT value FROM precious").get()).toEqual({ value: "kept" });
    expect(fixture.warnings.join()).toContain("keeps it in memory");
  });

  test("may be shared by two processes, each of which finds what the other wrote", async () => {
    const other = fixture.reopen();
    await fixture.memory.saveEpisode(episode({ turnId: "t1", userText: "The anchor is blue." }));
    await other.saveEpisode(episode({ turnId: "t2", scope: "channel:other", userText: "The anchor is red." }));
    for (const memory of [fixture.memory, other]) {
      const hits = await memory.search({ query: "anchor", scopes: ["channel:general", "channel:other"], limit: 5 });
      expect(hits.map((hit) => hit.scope).sort()).toEqual(["channel:general", "channel:other"]);
    }
  });

  test("writes only the passages of a file that differ", async () => {
    const entry = (index: number) => `## 10:${String(index).padStart(2, "0")} — entry\n\nwords of entry${index}\n`;
    const text = Array.from({ length: 40 }, (_, index) => entry(index)).join("\n");
    fixture.write(`${episodes}/2026-11-20.md`, text);
    expect(await fixture.memory.count(["channel:general"])).toBe(40);
    const newest = () => {
      const database = new DatabaseSync(fixture.indexFile, { readOnly: true });
      const ids = database
        .prepare("SELECT id FROM passages ORDER BY id")
        .all()
        .map((row) => Number(row.id));
      database.close();
      return ids;
    };
    const before = newest();
    appendFileSync(join(fixture.workspace, episodes, "2026-11-20.md"), `\n${entry(41)}`);
    expect(await fixture.memory.count(["channel:general"])).toBe(41);
    expect(newest()).toEqual([...before, Math.max(...before) + 1]);
  });

  test("can be warmed up before the first question", async () => {
    fixture.write(`${knowledge}/a.md`, "The anchor is blue.");
    await fixture.memory.warmUp();
    expect(statSync(fixture.indexFile).size).toBeGreaterThan(0);
    expect(await headings("anchor")).toEqual(["a"]);
  });

  test("after closing finds nothing, and says so", async () => {
    fixture.write(`${knowledge}/a.md`, "The anchor is blue.");
    await fixture.memory.close();
    expect(await find("anchor")).toEqual([]);
    expect(fixture.warnings.join()).toContain("could not search memory, so nothing was found");
  });
});

describe("what a question finds", () => {
  const notes = (...texts: string[]) =>
    fixture.write(`${knowledge}/notes.md`, texts.map((text, index) => `# n${index}\n\n${text}\n`).join("\n"));

  test("words in other forms, regular and irregular, accented or not", async () => {
    notes("She adopted two puppies and went home.", "Le café était fermé.", "Nothing here at all.");
    expect((await headings("adopting a puppy"))[0]).toBe("n0");
    expect((await headings("where did she go?"))[0]).toBe("n0");
    expect((await headings("cafe"))[0]).toBe("n1");
  });

  test.each([
    ["Chinese", "我们昨天在公园里散步。", "公园", "散步"],
    ["one Chinese character", "她养了一只猫。", "猫", "猫"],
    ["Japanese", "東京タワーに行きました。", "東京タワー", "行きました"],
    ["Korean", "학교에서 친구를 만났다.", "학교", "친구"],
    ["Thai", "ฉันรักประเทศไทย", "ประเทศ", "ไทย"],
    ["Arabic", "ذَهَبَ أحمد إلى المدرسة", "ذهب", "احمد"],
    ["Russian", "Ёжик живёт в лесу.", "ежик", "ЛЕСУ"],
    ["Hindi", "मैं काम पर जाता हूँ।", "काम", "जाता"],
    ["emoji", "The release is out 🎉 at last", "🎉", "release"],
    ["identifiers", "Call shell_exec in src/core/run-turn.ts", "run-turn.ts", "shell_exec"],
  ])("%s", async (_language, text, one, other) => {
    notes(text, "别的东西完全不同 other things", "ก็ดี и другое");
    expect((await headings(one))[0]).toBe("n0");
    expect((await headings(other))[0]).toBe("n0");
  });

  test("the answer that stands after the question it belongs to", async () => {
    const filler = Array.from(
      { length: 30 },
      (_, index) => `## 09:${10 + index} — Ann\n\nTalk about the weather, number ${index}.\n`,
    );
    const asked = "## 09:50 — Ann\n\nWhich colour has the anchor of the yacht?\n";
    const answered = "## 09:51 — Bob\n\nGreen, as far as I remember.\n";
    fixture.write(`${episodes}/2026-11-20.md`, [...filler, asked, answered].join("\n"));
    const texts = (await find("colour of the yacht's anchor")).map((hit) => hit.text);
    expect(texts.slice(0, 2)).toEqual(["Which colour has the anchor of the yacht?", "Green, as far as I remember."]);
  });

  test("words that stand together before words that stand apart, and quoted phrases first", async () => {
    const apart = "The winch was greased. Later, after a long lunch with many guests, someone found the anchor.";
    notes(
      `${apart} one`,
      "They say the anchor winch is stuck again, which was to be expected by all of us here. one",
      `${apart} two`,
    );
    expect((await headings("anchor winch"))[0]).toBe("n1");
    notes(
      "blue mast and red sail, all of it",
      "the red mast and the blue sail, all of it",
      "other words to make those rare",
    );
    expect((await headings('"red mast" blue sail'))[0]).toBe("n1");
  });

  test("days that it names", async () => {
    for (const day of ["2026-11-20", "2026-11-21", "2026-03-08", "2025-11-20"]) {
      fixture.write(`${episodes}/${day}.md`, `## 10:00 — standup\n\nWe talked about boats.\n`);
    }
    const first = async (query: string) => (await find(query))[0]?.at.slice(0, 10);
    expect(await first("boats on 8 March 2026")).toBe("2026-03-08");
    expect(await first("what about the boats in March?")).toBe("2026-03-08");
    expect(await first("2025-11-20")).toBe("2025-11-20");
    expect(await first("boats yesterday")).toBe("2026-11-20");
    expect(await first("Nov 20th, 2025 boats")).toBe("2025-11-20");
  });

  test("of equals the newer one first", async () => {
    fixture.write(`${episodes}/2026-01-01.md`, "## 10:00 — plan\n\nThe anchor plan, version one.\n");
    fixture.write(`${episodes}/2026-11-20.md`, "## 10:00 — plan\n\nThe anchor plan, version two.\n");
    expect((await find("anchor plan"))[0]?.at).toBe("2026-11-20T10:00:00.000Z");
  });

  test("the same text once, and decisions as well", async () => {
    notes("The anchor is blue.");
    fixture.write(`${knowledge}/copy.md`, fixture.read(`${knowledge}/notes.md`));
    expect(await headings("anchor")).toEqual(["n0"]);
    await fixture.memory.recordFeedback(feedback({ outcome: "denied", summary: '{"command":"rm mast"}' }));
    expect((await find("rm mast"))[0]?.text).toContain("shell_exec: denied");
  });

  test("in a question of ten thousand words, those that tell most", async () => {
    notes("The anchor is blue.", "Other words stand here.");
    const words = Array.from({ length: 10_000 }, (_, index) => `w${index % 10}`).join(" ");
    expect(await headings(`extraordinarily ${words}`)).toEqual([]);
    expect((await headings(`anchor ${words}`))[0]).toBe("n0");
  });

  test("a long text in readable pieces, none lost", async () => {
    const paragraphs = Array.from(
      { length: 60 },
      (_, index) => `Paragraph ${index} talks about subject${index}. ${"Filler text. ".repeat(12)}`,
    );
    fixture.write(`${knowledge}/long.md`, `# Long\n\n${paragraphs.join("\n\n")}\n`);
    for (const index of [0, 29, 59]) {
      const [hit] = await find(`subject${index}`);
      expect(hit?.text).toContain(`subject${index}.`);
      expect(hit?.text.length).toBeLessThanOrEqual(1_200);
    }
  });

  test("with the time of the search now, not of the process's start", async () => {
    let clock = noon;
    const memory = fixture.reopen({ now: () => clock });
    fixture.write(`${episodes}/2026-11-20.md`, "## 10:00 — a\n\nboats\n");
    fixture.write(`${episodes}/2026-11-21.md`, "## 10:00 — b\n\nboats\n");
    const first = async () =>
      (await memory.search({ query: "boats yesterday", scopes: ["channel:general"], limit: 1 }))[0]?.heading;
    expect(await first()).toBe("10:00 — a");
    clock += 86_400_000;
    expect(await first()).toBe("10:00 — b");
  });
});

/** Damage inside the file that shows only when its pages are read. */
function overwritePages(path: string): void {
  const bytes = readFileSync(path);
  bytes.fill(0x5a, 4096);
  writeFileSync(path, bytes);
}

describe("what a message brings up by itself", () => {
  const unasked = async (query: string, limit = 24) =>
    (await fixture.memory.search({ query, scopes: ["channel:general"], limit, isUnasked: true })).map(
      ({ heading }) => heading,
    );
  const subjects = [
    "invoices",
    "the newsletter",
    "parking",
    "the kitchen",
    "backups",
    "holidays",
    "the printer cable",
    "lunch",
  ];
  const writeDays = () => {
    const entries = subjects.map((subject, index) => {
      const said = `**User** (Ann):\n\nwhat about ${subject}?\n\n**Response**:\n\nMostly on Mondays, next to the old rules.`;
      return `## 1${index}:00 — ${subject}\n\n${said}\n`;
    });
    fixture.write(`${episodes}/2026-11-20.md`, entries.join("\n"));
  };

  test("leaves out passages that only share common words with it, which a search that was asked for finds", async () => {
    writeDays();
    for (const text of [
      "is our staging server still slow on Mondays?",
      "what should we do next about the onboarding?",
    ]) {
      expect(await unasked(text)).toEqual([]);
      expect(await headings(text)).not.toEqual([]);
    }
  });

  test.each([
    ["alone in memory", 0],
    ["among many", 200],
  ])("has the note with a name or number that a message only mentions: %s", async (_where, others) => {
    const more = Array.from(
      { length: others },
      (_, index) => `# Entry ${index}\n\nThe daily report ${index} is in the folder.\n`,
    );
    fixture.write(`${knowledge}/more.md`, more.join("\n"));
    fixture.write(`${knowledge}/kestrel.md`, "# Kestrel\n\nNever reboot kestrel on a Friday. Call Mara first: 4711.\n");
    for (const text of [
      "Is kestrel down?",
      "Please restart kestrel, the checkout page answers slowly since the deployment",
      "Can you restart kestrel? https://ci.acme.example/jobs/8912/console",
      "Hi there, I am new in this team and somebody said I could ask you: whom does one usually call about kestrel?",
      "Hallo zusammen, weiß jemand von euch zufällig, ob man kestrel heute noch neu starten darf?",
    ])
      expect(await unasked(text)).toContain("Kestrel");
  });

  test("has what a part of a long message is about, and what a day was about that it names", async () => {
    writeDays();
    const long =
      "Hi all, I looked at the deployment since the weekend, it keeps failing with timeouts in the integration step, and I wonder whether the cable of the printer has anything to do with it";
    expect(await unasked(long)).toContain("16:00 — the printer cable");
    expect(await unasked("what did we do yesterday?")).toHaveLength(subjects.length);
  });

  test.each([
    ["die einzige Notiz", "Mara unterschreibt die Preisliste.", "wer unterschreibt die Preisliste?"],
    ["склад", "Ключ от склада лежит у охраны.", "где ключ от склада?"],
    ["金庫", "金庫の暗証番号は総務が持っています。", "金庫の番号は誰が知っていますか"],
    ["仓库", "仓库的钥匙在前台。", "仓库钥匙在哪里？"],
    ["กุญแจ", "กุญแจห้องเก็บของอยู่ที่แผนกต้อนรับ", "กุญแจห้องเก็บของอยู่ไหน"],
    ["مفتاح", "مفتاح المخزن عند الحارس.", "أين مفتاح المخزن؟"],
  ])("has the note that answers it, whatever its script: %s", async (heading, note, question) => {
    fixture.write(`${knowledge}/other.md`, subjects.map((subject) => `# ${subject}\n\nNothing yet.\n`).join("\n"));
    fixture.write(`${knowledge}/note.md`, `# ${heading}\n\n${note}\n`);
    expect(await unasked(question)).toContain(heading);
  });
});
