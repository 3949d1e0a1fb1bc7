/**
 * How many harmless turns ask people, with the real process and a model that makes each turn's calls:
 *
 *   own     in the conversation's own folder
 *   given   in a folder that `folders` names, after one "Allow here for 30 min" for changes and one for changes with deletions
 *   read    in an own folder, after the prompt held a web page; every second turn starts a new thread
 *
 * Prints one JSON line: turns, how many of them asked, and which. `node bench/harmless-turns.ts`.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { startCallingModel } from "../test/doubles/calling-model.ts";
import { createChatClient, type SeenMessage } from "../test/doubles/chat-client.ts";
import { createHome, startRemora } from "../test/doubles/remora-process.ts";
import { startWebSite } from "../test/doubles/web-site.ts";

const call = (tool: string, input: object) => `call ${tool} ${JSON.stringify(input)}`;
const run = (command: string) => call("shell_exec", { command });
const edit = (path: string, old_text: string, new_text: string) => call("edit_file", { path, old_text, new_text });
const write = (path: string, content: string) => call("write_file", { path, content });

const files: Readonly<Record<string, string>> = {
  "README.md": "# Shop\n\nA small shop.\n",
  "package.json": '{ "name": "shop", "version": "1.0.0", "scripts": { "test": "node --test" } }\n',
  Makefile: "all:\n\techo built\n",
  "src/index.ts": 'import { price } from "./price.ts";\nconsole.log(price(2));\n',
  "src/price.ts": "export function price(count: number): number {\n  return count * 3;\n}\n",
  "src/cart.py": "def total(items):\n    return sum(items)\n",
  "test/price.test.ts": 'import "../src/price.ts";\n',
  "docs/guide.md": "# Guide\n\nFirst, add a product.\n",
  "docs/old.md": "# Old\n",
  "data/sales.csv": "month,total\nMay,3\nJune,4\n",
  "data/notes.txt": "call Ben\nbuy tea\n",
  "config/app.yaml": "port: 80\n",
  "styles/site.css": "body { color: black; }\n",
  "scripts/report.sh": "#!/bin/sh\nwc -l data/sales.csv\n",
};

/** They only look. */
const looking: readonly string[] = [
  run("ls -la"),
  run("find . -name '*.ts' | head"),
  run("grep -rn price src"),
  run("cat README.md docs/guide.md"),
  run("wc -l src/*.ts"),
  run("sh scripts/report.sh"),
  run("git log --oneline -5 || true"),
  run("sort data/sales.csv | uniq -c"),
  call("list_folder", { path: "." }),
  call("read_file", { path: "src/index.ts" }),
  call("search_files", { text: "product" }),
  call("data_describe", { files: ["data/sales.csv"] }),
];

/** They change code, text and data. */
const working: readonly string[] = [
  edit("README.md", "A small shop.", "A small shop for tea."),
  edit("src/price.ts", "count * 3", "count * 4"),
  edit("src/cart.py", "sum(items)", "round(sum(items), 2)"),
  edit("docs/guide.md", "add a product", "add two products"),
  edit("config/app.yaml", "port: 80", "port: 8080"),
  edit("styles/site.css", "black", "navy"),
  run("sed -i 's/May/Mai/' data/sales.csv"),
  run("printf 'July,5\\n' >> data/sales.csv"),
  write("src/tax.ts", "export const tax = 0.19;\n"),
  write("docs/faq.md", "# Questions\n\nWhen do you open?\n"),
  write("data/summary.json", '{"total": 7}\n'),
  run("mkdir -p docs/howto && echo '# Pay' > docs/howto/pay.md"),
  run("cp docs/guide.md docs/guide-copy.md"),
  run("mv docs/old.md docs/archive.md"),
  run("rm docs/guide-copy.md"),
  `${edit("test/price.test.ts", 'import "../src/price.ts";', 'import "../src/tax.ts";')} then ${run("cat test/price.test.ts")}`,
  run("tr a-z A-Z < data/notes.txt > data/loud.txt"),
  run("head -2 data/sales.csv | tee data/head.csv"),
  run("echo 'total: 12' > report.txt; cat report.txt"),
  edit("package.json", '"version": "1.0.0"', '"version": "1.0.1"'),
  run("printf 'clean:\\n\\trm -f report.txt\\n' >> Makefile"),
  run("printf '\\nwc -w data/notes.txt\\n' >> scripts/report.sh"),
];

/** They write down what a page said. */
const noting: readonly string[] = [
  run("mkdir -p notes/trains && echo 'leaves at ten' > notes/trains/timetable.md"),
  run("ls -R notes"),
  write("notes/train.md", "The train leaves at ten.\n"),
  run("cat notes/train.md && ls"),
  edit("README.md", "# Shop", "# The shop"),
  run("ln -sf trains/timetable.md notes/latest.md; ls -l notes"),
  run("mv notes/train.md notes/train-times.md"),
  call("recall", { query: "train" }),
  call("list_folder", { path: "notes" }),
  run("grep -rn ten notes | wc -l"),
];

const [home, model, site] = await Promise.all([createHome(), startCallingModel(), startWebSite()]);
site.on("/train", "<title>The train</title><article><h1>The train</h1><p>It leaves at ten.</p></article>");
const root = dirname(home.data);
const shop = join(root, "shop");
await fill(shop);
const config = join(root, "remora.yaml");
const web = { allow: [`127.0.0.1:${site.port}`], ports: [80, site.port] };
const settings = { folders: { "local:channel:general": shop }, skills: { settings: { web } } };
await writeFile(config, JSON.stringify(settings));
const remora = await startRemora(home, {
  ...{ ANTHROPIC_API_KEY: "bench-key", ANTHROPIC_BASE_URL: model.url, REMORA_CONFIG: config },
});
const ann = await createChatClient(remora.url, remora.token);

async function fill(folder: string): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text, { mode: name.endsWith(".sh") ? 0o755 : 0o644 });
  }
}

interface Outcome {
  text: string;
  said: SeenMessage;
  card: SeenMessage | undefined;
}

const waits = (message: SeenMessage) => message.type === "card" && message.card?.items.some(isOpen) === true;
const isOpen = ({ state }: { state: string }) => state === "open";

/** Asks, and resolves when the turn has ended or waits for a card. Open cards are denied afterwards. */
async function ask(text: string, place: { channel: string; thread?: string } | { dm: true }): Promise<Outcome> {
  const said = await ann.say("channel" in place ? `@remora ${text}` : text, place as { channel: string });
  const isHere = (message: SeenMessage) =>
    message.author.isBot &&
    message.sequence > said.sequence &&
    (said.place.startsWith("dm") || message.thread === (said.thread ?? said.id)) &&
    message.place === said.place;
  const ended = await ann.waitFor(
    (message) => isHere(message) && (waits(message) || (message.type === "message" && /Finished/.test(message.text))),
  );
  // A call that failed would not have asked.
  if (/invalid|blocked|unknown tool|no such|not found/i.test(ended.text)) throw new Error(`${text}: ${ended.text}`);
  await settled(said);
  return { text, said, card: [...ann.seen.values()].find((message) => isHere(message) && waits(message)) };
}

/** The card of changes comes below the answer, so wait until its draft is decided or asked about. */
async function settled(said: SeenMessage): Promise<void> {
  for (let quiet = 0, count = 0; quiet < 8; ) {
    await new Promise((done) => setTimeout(done, 100));
    const now = [...ann.seen.values()].filter(({ sequence }) => sequence > said.sequence).length;
    quiet = now === count ? quiet + 1 : 0;
    count = now;
  }
}

const own = { channel: "random" };
const asked: Record<string, string[]> = { own: [], given: [], read: [] };
let turns = 0;

async function measure(world: string, texts: readonly string[], place: () => { channel: string; thread?: string }) {
  for (const text of texts) {
    turns++;
    const { card } = await ask(text, place());
    if (card === undefined) continue;
    asked[world]?.push(text);
    const item = card.card?.items.find(isOpen);
    process.stderr.write(`${world}: ${text.slice(0, 100)}: ${item?.headline} ${item?.reason ?? ""}\n`);
    await ann.click(card, "approve");
    await ann.waitFor((message) => message.id === card.id && !waits(message));
    await settled(card);
  }
}

/** A grant is for one thread. */
async function allowed(text: string, place: { channel: string; thread?: string }): Promise<SeenMessage> {
  const { card, said } = await ask(text, place);
  if (card === undefined) throw new Error(`no card for ${text}`);
  const answer = await ann.click(card, "allow");
  process.stderr.write(`allowed: ${answer.text}\n`);
  await ann.waitFor((message) => message.id === card.id && !waits(message));
  await settled(card);
  return said;
}

await fill(join(home.workspace, "files", `channel:${own.channel}`));
await measure("own", [...looking, ...working], () => own);

const { id } = await allowed(write("docs/hello.md", "# Hello\n"), { channel: "general" });
const given = { channel: "general", thread: id };
await allowed(run("rm docs/hello.md"), given);
await measure("given", [...looking, ...working], () => given);

const page = await ask(call("web_fetch_any", { url: `${site.origin}/train` }), own);
if (page.card !== undefined) await ann.click(page.card, "approve");
await settled(page.said);
let at = 0;
const read = [...noting, ...looking, ...working.slice(0, 10)];
await measure("read", read, () => (at++ % 2 === 0 ? { ...own, thread: page.said.id } : own));

const count = Object.values(asked).reduce((sum, texts) => sum + texts.length, 0);
const share = Number(((100 * count) / turns).toFixed(1));
process.stdout.write(
  `${JSON.stringify({ bench: "harmless-turns", turns, asked: count, per100: share, which: asked })}\n`,
);
ann.close();
await remora.stop();
await Promise.all([model.close(), site.close(), home.remove()]);
