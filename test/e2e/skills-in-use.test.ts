/** Every shipped skill in use: the real agent, a scripted model, and people who approve. */
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stringify } from "yaml";
import { atOnce } from "../doubles/at-once.ts";
import { type CallingModel, startCallingModel } from "../doubles/calling-model.ts";
import { type ChatClient, createChatClient, type SeenMessage } from "../doubles/chat-client.ts";
import { startRemora } from "../doubles/remora-in-process.ts";
import {
  createHome,
  type RemoraHome,
  type RunningRemora,
  startRemora as startProcess,
} from "../doubles/remora-process.ts";
import { startWebSite, type WebSite } from "../doubles/web-site.ts";
import { isWhole } from "../faults/share.ts";

let home: RemoraHome;
let model: CallingModel;
let site: WebSite;
let remora: RunningRemora;
let ann: ChatClient;

beforeAll(async () => {
  [home, model, site] = await Promise.all([createHome(), startCallingModel(), startWebSite()]);
  site.on("/train", "<title>The train</title><article><h1>The train</h1><p>It leaves on Friday at ten.</p></article>");
  await writeFile(configPath(), stringify(config()));
  await begin(startRemora);
});
afterAll(async () => {
  ann.close();
  await remora.stop();
  await Promise.all([model.close(), site.close(), home.remove()]);
});

function config(): object {
  const program = fileURLToPath(new URL("../doubles/mcp-server.ts", import.meta.url));
  const test = { command: process.execPath, args: [program, "{}"], trust: ["refuse"] };
  const web = { allow: [`127.0.0.1:${site.port}`], ports: [80, site.port] };
  return { safety: { owners: ["user:local:ann"] }, skills: { settings: { mcp: { servers: { test } }, web } } };
}

const configPath = () => join(dirname(home.data), "remora.yaml");
const inFiles = (name: string) => join(home.workspace, "files", "channel:general", name);
const inSkills = (...names: string[]) => join(home.workspace, "skills", ...names);

async function begin<R extends RunningRemora>(start: (home: RemoraHome, env: Record<string, string>) => Promise<R>) {
  const env = { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url, REMORA_CONFIG: configPath() };
  const started = await start(home, env);
  ann = await createChatClient(started.url, started.token);
  remora = started;
  return started;
}

/** Waits for the finished answer; clicks no cards. */
function finished(said: SeenMessage): Promise<SeenMessage> {
  return ann.waitFor(
    ({ author, thread, sequence, text, state }) =>
      author.isBot && thread === said.id && sequence > said.sequence && /Finished/.test(text) && state === "done",
  );
}

/** Runs without a question. */
async function use(calls: string): Promise<SeenMessage> {
  const said = await ann.say(`@remora ${calls}`);
  const answer = await finished(said);
  expect(cardsOf(said).filter(({ card }) => card?.items.some((item) => item.changes === undefined))).toEqual([]);
  return answer;
}

/** Runs without a question, and its changes are kept. Resolves to the paths on the card below the answer. */
async function useKept(calls: string): Promise<{ answer: SeenMessage; paths: string[]; report: SeenMessage }> {
  const answer = await use(calls);
  const report = await ann.waitFor(({ type, thread, sequence }) => {
    return type === "card" && thread === answer.thread && sequence > answer.sequence;
  });
  expect(report.card?.items).toMatchObject([
    { state: "consumed", choices: ["undo"], outcome: expect.stringMatching(/^Kept without asking — /) },
  ]);
  return { answer, paths: report.card?.items[0]?.changes?.files.map(({ path }) => path) ?? [], report };
}

/** Asks for one of these reasons, and runs after Ann approves. */
async function useAsked(calls: string, reason: string): Promise<SeenMessage> {
  const said = await ann.say(`@remora ${calls}`);
  const card = await ann.cardFor(said);
  expect(card.card?.items[0]?.why.join("\n")).toContain(reason);
  const undo =
    reason === "a tool of another program" ? /^Can't be undone: another program does it\.$/ : /^(?:Can|What|It)\b/;
  expect(card.card?.items[0]?.undo).toMatch(undo);
  expect(await ann.click(card, "approve")).toMatchObject({ accepted: true });
  return await finished(said);
}

function cardsOf(said: SeenMessage): SeenMessage[] {
  return [...ann.seen.values()].filter(({ type, thread }) => type === "card" && thread === said.id);
}

async function writeSkill(name: string, text: string): Promise<void> {
  await mkdir(inSkills(name), { recursive: true });
  await writeFile(inSkills(name, "SKILL.md"), text);
}

const call = (tool: string, input: object) => `call ${tool} ${JSON.stringify(input)}`;
const lastRequest = () => model.requests.at(-1) ?? "";

/** Skills and servers are loaded in the background, so new ones appear a moment later. */
async function untilOffered(tool: string): Promise<void> {
  const isOffered = async () => {
    await use("hello");
    return lastRequest().includes(tool);
  };
  await expect.poll(isOffered, { timeout: 60_000 }).toBe(true);
}

test("filesystem: reads and writes without asking, stays in its folder, and shows git's own files on the card", async () => {
  const write = call("write_file", { path: "notes/a.md", content: "alpha\nbeta\n" });
  const edit = call("edit_file", { path: "notes/a.md", old_text: "beta", new_text: "gamma" });
  const { answer, paths } = await useKept(`${write} then ${edit} then ${call("search_files", { text: "gamma" })}`);
  expect(answer.text).toContain("notes/a.md:2: gamma");
  expect(paths).toEqual(["notes/"]);
  expect(await readFile(inFiles("notes/a.md"), "utf8")).toBe("alpha\ngamma\n");
  expect((await use(call("read_file", { path: "../channel:random/a.md" }))).text).toContain("Blocked");
  expect((await use(call("read_file", { where: "notes/a.md" }))).text).toContain("unknown argument");
  const { paths: own, report } = await useKept(call("write_file", { path: "repo/.git/config", content: "[core]\n" }));
  expect(own).toEqual(["repo/"]);
  expect(await ann.click(report, "undo")).toMatchObject({ accepted: true });
  await expect(readFile(inFiles("repo/.git/config"))).rejects.toThrow("ENOENT");
  await useAsked(call("read_file", { path: ".env" }), "usually contains secrets");
});

test("shell and git: reading reports nothing, changes are reported, leaving the folder asks, a forced push is blocked", async () => {
  const commit =
    "git init -q work && cd work && git -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m first";
  expect((await useKept(call("shell_exec", { command: commit }))).paths).toEqual(["work/"]);
  const log = await use(call("shell_exec", { command: "cd work && git log --oneline" }));
  expect(log.text).toContain("first");
  await useAsked(call("shell_exec", { command: "cd work && git push origin feature" }), "publishes commits");
  await useAsked(call("shell_exec", { command: "true", network: ["example.com"] }), "It reaches the network");
  const forced = { command: "cd work && git push --force origin main" };
  expect((await use(call("shell_exec", forced))).text).toContain("Blocked by the safety rules of shell");
  // In another form, the gate judges the call that runs.
  const inOtherWords = { cmd: forced.command, background: "false", network: null };
  expect((await use(call("bash", inOtherWords))).text).toContain("Blocked by the safety rules of shell");
  await useAsked(call("SHELL_EXEC", { command: "cd work && git push origin other" }), "publishes commits");
  await useAsked(call("bash", { command: "true", network: "example.org" }), "It reaches the network");
  expect(cardsOf(log)).toEqual([]);
});

test("a background job has its log in shell_jobs, and its changes are reported at its end", async () => {
  const start = call("shell_exec", { command: "echo from-the-job | tee job.txt", background: true });
  const said = await ann.say(`@remora ${start}`);
  await finished(said);
  const [id = ""] = /\b[0-9a-f]{8}\b/.exec((await finished(said)).text) ?? [];
  const report = await ann.changesFor(said);
  expect(report.card?.items).toMatchObject([
    { state: "consumed", outcome: expect.stringMatching(/^Kept without asking — /) },
  ]);
  expect(await readFile(inFiles("job.txt"), "utf8")).toBe("from-the-job\n");
  const asked = await ann.say(`@remora ${call("shell_jobs", { read: id })}`, { channel: "general", thread: said.id });
  const answer = await ann.waitFor(({ author, thread, sequence, text, state }) => {
    const isBelow = author.isBot && thread === said.id && sequence > asked.sequence;
    return isBelow && /Finished/.test(text) && state === "done";
  });
  expect(answer.text).toContain("from-the-job");
  expect(answer.text).toContain("exit code 0");
});

test("ten background jobs that one person starts at once in ten conversations are four", async () => {
  const ben = await createChatClient(remora.url, remora.token, "ben");
  const start = call("shell_exec", { command: "sleep 30", background: true });
  const { done } = await atOnce(10, async () => ben.answerTo(await ben.say(`@remora ${start}`)));
  ben.close();
  const started = done.filter(({ text }) => /Job [0-9a-f]{8} runs/.test(text));
  const refused = done.filter(({ text }) => text.includes("Ben already has 4 jobs running"));
  expect([started.length, refused.length]).toEqual([4, 6]);
});

test("planning, git and code-review: instructions load when they fit, and so does a bundled file", async () => {
  await use("please review my commit step by step");
  for (const known of ["Know the aim.", "Before you change anything", "Look before you plan"])
    expect(lastRequest()).toContain(known);
  await use("good morning");
  for (const known of ["Know the aim.", "Look before you plan"]) expect(lastRequest()).not.toContain(known);
  expect(lastRequest()).toContain("For a task with several steps, look first");
  const checklist = call("load_skill", { name: "code-review", file: "checklist.md" });
  expect((await use(checklist)).text).toContain("Review checklist");
  const outside = call("load_skill", { name: "code-review", file: "../shell/SKILL.md" });
  expect((await use(outside)).text).toContain("has no file");
});

test("patterns hold up no reading of skills, and the budget decides how many texts come in", async () => {
  const skill = (name: string, fields: object, text: string) =>
    writeSkill(name, `---\n${stringify({ name, description: `About ${name}.`, ...fields })}---\n\n${text}\n`);
  const names = ["deploy", "rollout", "canary", "release", "runbook"];
  for (const name of names) await skill(name, { triggers: ["flugelhorn"] }, `The text of ${name}.`);
  const strict = { danger_patterns: ["deploy"], confirm_patterns: ["runbook", "load_skill"] };
  const tools = [{ name: "flugel_play", description: "Plays." }];
  await skill("horn", { triggers: ["flugelhorn horn"], tools, ...strict }, "The text of the skill with tools.");
  await writeFile(inSkills("deploy", "notes.md"), "level three");
  await untilOffered("flugel_play");

  expect((await use(call("load_skill", { name: "deploy" }))).text).toContain("The text of deploy.");
  expect((await use(call("load_skill", { name: "runbook" }))).text).toContain("The text of runbook.");
  expect((await use(call("list_folder", { path: "deploy" }))).text).toContain("Blocked by the safety rules of horn");

  const plain = await ann.say("@remora a flugelhorn horn");
  await finished(plain);
  const [horn, ...places] = ["the skill with tools", ...names].map((name) =>
    lastRequest().indexOf(`The text of ${name}.`),
  );
  expect(Math.min(...places)).toBeGreaterThan(0);
  expect(horn).toBeGreaterThan(Math.max(...places));
  const feedback = join(home.workspace, "brain/basalganglia/channel:general");
  const lines = async () =>
    (await Promise.all((await readdir(feedback)).map((name) => readFile(join(feedback, name), "utf8")))).join("\n");
  await expect.poll(lines).toMatch(/ turn without tools: done — `anthropic\//);

  await rm(inSkills("horn"), { recursive: true });
  await expect
    .poll(() => use("hello").then(() => lastRequest().includes("flugel_play")), { timeout: 60_000 })
    .toBe(false);
  const bundled = await use(call("read_file", { path: inSkills("deploy", "notes.md") }));
  expect(bundled.text).toContain("level three");
  for (const path of [inSkills("origins.json"), inSkills("deploy", "..", "..", "remora.yaml")])
    expect((await use(call("read_file", { path }))).text).not.toContain("safety:");
  const changed = await use(call("write_file", { path: inSkills("deploy", "notes.md"), content: "changed" }));
  expect(changed.text).toContain("no tool changes them");
  expect(await readFile(inSkills("deploy", "notes.md"), "utf8")).toBe("level three");
  for (const name of names) await rm(inSkills(name), { recursive: true });
});

test("a plugin whose start failed is tried again, and its call runs once", async () => {
  const source = `import { appendFileSync, existsSync, readFileSync } from "node:fs";
    let file;
    export default {
      init(home) {
        file = home.dataFolder + "/log.txt";
        const isFirst = !existsSync(file);
        appendFileSync(file, "start ");
        if (isFirst) throw new Error("not yet");
      },
      execute() { appendFileSync(file, "run "); return readFileSync(file, "utf8"); },
    };`;
  await writeSkill(
    "slow-start",
    "---\nname: slow-start\ndescription: Starts late.\ntools: [{ name: late_act }]\n---\n\nText.\n",
  );
  await writeFile(inSkills("slow-start", "plugin.mjs"), source);
  await untilOffered("late_act");
  expect((await use(call("late_act", {}))).text).toContain("start start run ");
});

test("web: reads an internal page that the operator allowed and no other, and a later reminder asks", async () => {
  const page = call("web_fetch", { url: `${site.origin}/train` });
  expect((await use(page)).text).toContain("It leaves on Friday at ten.");
  const asked = site.requests.length;
  for (const url of ["http://169.254.169.254/latest/meta-data/", "file:///etc/passwd"])
    expect((await use(call("web_fetch", { url }))).text).toContain("Blocked by the safety rules of web");
  for (const url of ["http://2130706433/", "http://[::1]/", "http://localhost/"])
    expect((await use(call("web_fetch", { url }))).text).toContain("not a public address");
  expect((await use(call("web_search", { query: "trains" }))).text).toContain("No search provider is configured");
  expect(site.requests).toHaveLength(asked);
  const keep = call("remember", { title: "Train", text: "It leaves on Friday." });
  await use(`${page} then ${keep}`);
  const reminder = call("schedule_add", { text: "The train", when: "in 3 hours", kind: "remind" });
  await useAsked(`${page} then ${reminder}`, "after reading text from outside");
});

test("chat: reads the history without the unfinished answer, and posts text and files to the right place", async () => {
  const history = await use(call("chat_history", { limit: 5 }));
  expect(history.text).toMatch(/Ann \(ann\), message \S+: @remora call chat_history/);
  expect(history.text).not.toContain("Remora (remora)");
  const later = await use(call("chat_history", { channel: "#general", limit: 2 }));
  expect(later.text).toMatch(/Ann \(ann\), message \S+ \(1 reply\): @remora call chat_history/);

  await useAsked(
    call("chat_post", { channel: "#random", text: "The **build** is green." }),
    "posts a message that others see at once",
  );
  const inRandom = ({ place, author }: SeenMessage) => place === "channel:random" && author.isBot;
  expect((await ann.waitFor(inRandom)).text).toBe("The **build** is green.");
  const nowhere = call("chat_post", { channel: "#nowhere", text: "x" });
  expect((await useAsked(nowhere, "posts a message that others see at once")).text).toContain("no channel #nowhere");

  await writeFile(inFiles("report.csv"), "a,b\n1,2\n");
  const [shared] = (await use(call("chat_upload", { path: "report.csv" }))).files;
  expect(shared).toMatchObject({ name: "report.csv", mimeType: "text/csv" });
  expect(await (await ann.request("GET", `/local/api/files/${shared?.id}`)).text()).toBe("a,b\n1,2\n");
  await useAsked(call("chat_upload", { path: "report.csv", channel: "#random" }), "shares a file in another channel");
  await ann.waitFor((message) => inRandom(message) && message.files[0]?.name === "report.csv");
});

test("use_tool: what it calls is judged, asked about and recorded as the tool itself", async () => {
  const wrapped = (name: string, input: object) => call("use_tool", { name, input });
  expect((await use(call("load_skill", { name: "chat_post" }))).text).toContain("### chat_post\n");
  await useAsked(wrapped("chat_post", { text: "Wrapped." }), "posts a message that others see at once");
  expect(lastRequest()).toContain('"name":"use_tool","input":{"name":"chat_post","input":{"text":"Wrapped."}}');
  const outside = wrapped("read_file", { path: "../channel:random/a.md" });
  expect((await use(outside)).text).toContain("Blocked by the safety rules of filesystem");
  expect((await use(wrapped("chat_post", {}))).text).toContain("- text: string. Markdown");
  expect((await use(wrapped("load_skill", { name: "git" }))).text).toContain("# Skill git");
  const log = join(home.workspace, "brain/corpus");
  const lines = async () =>
    (await Promise.all((await readdir(log)).map((name) => readFile(join(log, name), "utf8")))).join("");
  await expect.poll(lines).toContain('"tool":"chat_post"');
  expect(await lines()).not.toContain('"tool":"use_tool"');
});

test("data: answers a SQL query, and posts a chart as a picture", async () => {
  await writeFile(inFiles("sales.csv"), "region,amount\nNorth,10\nSouth,32\nNorth,5\n");
  const sql = "SELECT region, sum(amount) AS total FROM sales GROUP BY region ORDER BY region";
  expect((await use(call("data_query", { files: ["sales.csv"], sql }))).text).toMatch(/North \| 15[\s\S]*South \| 32/);
  const change = call("data_query", { files: ["sales.csv"], sql: "DELETE FROM sales" });
  expect((await use(change)).text).toContain("may only SELECT");
  expect((await use(call("data_describe", { files: ["../sales.csv"] }))).text).toContain("Blocked");

  const chart = await use(call("data_chart", { files: ["sales.csv"], sql, type: "bar", title: "Sales" }));
  expect(chart.files).toMatchObject([{ mimeType: "image/png" }]);
  const picture = await ann.request("GET", `/local/api/files/${chart.files[0]?.id}`);
  expect(picture.headers.get("content-disposition")).toMatch(/^inline/);
  expect(
    Buffer.from(await picture.arrayBuffer())
      .subarray(1, 4)
      .toString(),
  ).toBe("PNG");
});

test("skills: an approved skill is active at the next message, and a broken edit changes nothing", async () => {
  const content =
    "---\nname: tea\ndescription: How tea is made here.\ntriggers: [tea]\n---\n\nSteep it for four minutes.\n";
  await useAsked(call("write_skill", { name: "tea", content }), "instructions that later conversations follow");
  await use("how do we make tea");
  expect(lastRequest()).toContain("Steep it for four minutes.");
  await use("good morning");
  expect(lastRequest()).not.toContain("Steep it for four minutes.");
  const byCommand = await ann.command("skill", "tea what now");
  await finished(byCommand);
  expect(lastRequest()).toContain("Steep it for four minutes.");

  await writeFile(inSkills("tea", "SKILL.md"), content.replace("---\n\n", "\n"));
  const notices = async () => {
    await ann.command("skills");
    return [...ann.seen.values()].map(({ type, text }) => (type === "receipt" ? text : "")).join("\n");
  };
  await expect.poll(notices, { timeout: 60_000 }).toContain("its previous content stays in force");
  await use("tea again");
  expect(lastRequest()).toContain("Steep it for four minutes.");
  const code = call("write_skill", { name: "tea", file: "plugin.ts", content: "export default {}" });
  expect((await use(code)).text).toContain("Blocked by the safety rules of skills");
});

test("mcp: a server's tool asks, a trusted one does not, and a server crash costs one call", async () => {
  await untilOffered("test_echo");
  expect((await useAsked(call("test_echo", { text: "one" }), "a tool of another program")).text).toContain("one");
  expect((await use(call("test_refuse", {}))).text).toContain("no such thing");
  expect((await use(call("test_echo", { text: ["a", "b"] }))).text).toContain("don't fit its schema");
  const died = await useAsked(call("test_die", {}), "a tool of another program");
  expect(died.text).toContain("may or may not have taken effect");
  expect((await useAsked(call("test_echo", { text: "two" }), "a tool of another program")).text).toContain("two");
});

test("a tool's question has three buttons and is answered once, by the right person", async () => {
  await mkdir(inSkills("paint"), { recursive: true });
  const asks = 'return "it is " + (await context.ask("Which colour?", ["Red", "Forest green", "None"]));';
  await writeFile(
    inSkills("paint", "plugin.mjs"),
    `export default { async execute(tool, input, context) { ${asks} } };`,
  );
  const tools = "tools:\n  - name: pick_colour\n    description: Asks for a colour.";
  await writeFile(inSkills("paint", "SKILL.md"), `---\nname: paint\ndescription: Paints.\n${tools}\n---\n\n# Paint\n`);
  await untilOffered("pick_colour");

  const said = await ann.say("@remora call pick_colour {}");
  const { id: messageId, question } = await ann.waitFor(
    ({ type, thread }) => type === "question" && thread === said.id,
  );
  expect(question).toMatchObject({ question: "Which colour?", options: ["Red", "Forest green", "None"] });
  const pick = async (person: string, option: number) => {
    const body = { person, messageId, questionId: question?.id, option };
    return (await ann.request("POST", "/local/api/picks", body)).json();
  };
  expect(await pick("ben", 0)).toMatchObject({
    accepted: false,
    text: expect.stringContaining("Only Ann can answer this"),
  });
  expect(await pick("ann", 3)).toMatchObject({ accepted: false });
  expect(await pick("ann", 1)).toMatchObject({ accepted: true });
  expect(await pick("ann", 0)).toMatchObject({ accepted: false });
  expect((await finished(said)).text).toContain("it is Forest green");
  expect(ann.seen.get(messageId)).toMatchObject({
    state: "done",
    question: { note: "Ann chose “Forest green”, as an answer to the plugin paint." },
  });
});

test("memory and schedules survive the process: a note is found and forgotten, and a missed reminder is posted once", async () => {
  // Notes and schedules are on disk when their calls have ended, so `npm run chaos` alone kills.
  let end = () => remora.stop() as Promise<unknown>;
  if (isWhole) {
    ann.close();
    await remora.stop();
    end = (await begin(startProcess)).kill;
  }
  await use(call("remember", { title: "Deploys", text: "Deploys happen on Mondays at ten." }));
  await useAsked(
    call("remember", { text: "Fridays are free.", title: "Days off", shared: true }),
    "every conversation",
  );
  const task = { text: call("write_file", { path: "later.txt", content: "x" }), when: "in 3 hours", kind: "do" };
  await useAsked(call("schedule_add", task), "when nobody may be watching");
  expect((await use(call("schedule_add", { text: "x", when: "some day", kind: "remind" }))).text).toContain(
    "not a time that I understand",
  );
  const dueAt = Math.ceil(Date.now() / 1000) * 1000 + 3_000;
  const reminder = { text: "Water the plants", when: new Date(dueAt).toISOString(), kind: "remind" };
  const said = await ann.say(`@remora ${call("schedule_add", reminder)}`);
  const added = await finished(said);
  expect(added.text).toContain("Scheduled as");
  ann.close();
  await end();
  await expect.poll(() => Date.now(), { timeout: 10_000 }).toBeGreaterThan(dueAt);

  await begin(startRemora);
  const isAnswerTo = ({ author, thread, sequence }: SeenMessage) =>
    author.isBot && thread === said.id && sequence > added.sequence;
  await ann.waitFor((message) => isAnswerTo(message) && message.state === "done" && /Finished/.test(message.text));
  expect(
    model.requests.filter((request) => /Reminder that I asked for[^\]]*\]\\nWater the plants/.test(request)),
  ).toHaveLength(1);
  const listed = await use(call("schedule_list", {}));
  expect(listed.text).toContain("later.txt");
  expect(listed.text).not.toContain("Water the plants");

  expect((await use(call("recall", { query: "Deploys happen on" }))).text).toContain("Mondays at ten.");
  await useAsked(call("forget_note", { title: "Deploys" }), "deletes a note permanently");
  const again = await useAsked(call("forget_note", { title: "Deploys" }), "deletes a note permanently");
  expect(again.text).toContain('no note "Deploys"');
});
