/** The conversations of bench/cost.ts: what people say, and what the scripted model calls and answers. */

export interface Turn {
  /** A thread's name, or `dm`. */
  place: string;
  text: string;
  files: { name: string; content: string }[];
  /** `TOOL {json}`, one a step. */
  calls: string[];
  /** Different in each turn. */
  answer: string;
  /** Since the turn before. */
  minutes: number;
}

const topics = [
  ...["the invoice export", "our staging server", "the Berlin office", "the onboarding form", "the quarterly report"],
  ...["the mobile app", "the search page", "the support inbox", "the newsletter", "the backup job", "the price list"],
];
const questions = [
  ...["who looks after TOPIC now?", "is TOPIC still slow on Mondays?", "when did we change TOPIC last?"],
  ...["what should we do next about TOPIC?", "did anybody complain about TOPIC?", "what does TOPIC cost us a month?"],
  ...[
    "can TOPIC wait until next week?",
    "why was TOPIC moved in the first place?",
    "how long does TOPIC usually take?",
  ],
];
const remarks = [
  "Mara took it over in spring, and Jonas helps out when she travels. I would ask her first, because she knows the old setup as well.",
  "Mostly on the first Monday of a month, when the batch runs at eight. On other days nobody has noticed anything, so I would leave it.",
  "In September, together with the move to the new provider. Since then only texts have changed, and one of the two templates.",
  "I would write down what is missing, agree on one date, and then do it in one go, instead of a little every week.",
  "Two people did, both about the same button. It has been fixed since, and they were told.",
  "It is in the shared folder, next to the figures of last year, and the second sheet says who has changed what.",
  "Before that, somebody has to say whether the old version stays, since three customers still use it every day.",
];
const remark = (index: number) => remarks[index % remarks.length] ?? "";
const questionAbout = (index: number, topic: string) =>
  (questions[index % questions.length] ?? "").replace("TOPIC", topic);

/** Answers have about 90 words. A minute or two passes between turns. */
function turnOf(place: string, text: string, index: number, more: Partial<Turn> = {}): Turn {
  const said = [0, 1, 3, 4].map((offset) => remark(index + offset));
  const answer = `No. ${index + 1}. ${said.join(" ")}`;
  return { place, text, answer, files: [], calls: [], minutes: 1 + (index % 2), ...more };
}

/** Lines of everyday work in one thread, which come back to the same topics. */
export function oneLiners(count: number, more: Partial<Turn> = {}): Turn[] {
  return Array.from({ length: count }, (_, index) => {
    const text = questionAbout(index, topics[(index * 4) % topics.length] ?? "");
    return turnOf("main", `${text} (${index + 1})`, index, more);
  });
}

const rows = Array.from(
  { length: 40 },
  (_, row) => `2026-11-${(row % 28) + 1},${["North", "South"][row % 2]},${row * 3}`,
);
const sales = ["day,region,amount", ...rows, ""].join("\n");
const plan = ["# Launch", ...Array.from({ length: 25 }, (_, index) => `- ${index + 1}. ${remark(index)}`)].join("\n");
const call = (tool: string, input: object) => `${tool} ${JSON.stringify(input)}`;
const writeSales = call("write_file", { path: "sales.csv", content: sales });
const readSales = call("read_file", { path: "sales.csv" });

/** Every third turn calls a tool. */
export function withTools(turns: Turn[]): Turn[] {
  return turns.map((turn, index) => {
    return index % 3 === 0 ? { ...turn, calls: [index === 0 ? writeSales : readSales] } : turn;
  });
}

const publish = call("shell_exec", { command: "echo published", network: ["example.com"] });
const loadData = call("load_skill", { name: "data" });
const describeSales = call("use_tool", { name: "data_describe", input: { path: "sales.csv" } });
const list = call("write_file", { path: "checklist.md", content: "- plan\n- sales\n- Mara's signature\n" });
const signature = call("remember", { text: "Mara signs the price list before it is published.", title: "Signature" });

const launch: [string, Partial<Turn>?][] = [
  ["we launch the new price list on Thursday. what should we not forget?"],
  ["here is the plan. what is missing?", { files: [{ name: "plan.md", content: plan }] }],
  ["these are the sales. keep them", { files: [{ name: "november.csv", content: sales }], calls: [writeSales] }],
  ["which region sold more?", { calls: [readSales, loadData, describeSales] }],
  ["ok, and the total?", { calls: [call("shell_exec", { command: "wc -l sales.csv && head -5 sales.csv" })] }],
  ["how do we review code here?", { calls: [call("load_skill", { name: "code-review" })] }],
  ["publish it, please", { calls: [publish] }],
  ["thanks! how long did that take?"],
  ["keep in mind that Mara signs the price list", { calls: [signature] }],
  ["write the checklist", { calls: [list, call("shell_exec", { command: "cat checklist.md" })] }],
  ["who signs?", { calls: [call("recall", { query: "who signs the price list" }), readSales] }],
  ["then we are done?", { calls: [call("read_file", { path: "checklist.md" }), call("list_folder", { path: "." })] }],
];

/** 12 turns in a thread, with files, tools, two skills and a card; 5 mentions in other threads; a DM. 32 requests. */
export function story(): Turn[] {
  const others = ["side1", "side2", "side3", "side4", "side5", "dm"].map((place, index) =>
    turnOf(place, questionAbout(index, topics[index] ?? ""), launch.length + index),
  );
  return [...launch.map(([text, more], index) => turnOf("main", text, index, more)), ...others];
}

/** Threads that a mention begins, of which one in eight goes on. The first turns of some call tools, up to `maxCalls` times. */
export function mentions(count: number, more: Partial<Turn> = {}, maxCalls = 0): Turn[] {
  return Array.from({ length: count }, (_, index) => {
    const place = `mention${index}`;
    const about = questionAbout(index, topics[(index * 4) % topics.length] ?? "");
    const calls = Array.from({ length: maxCalls === 0 ? 0 : 1 + (index % maxCalls) }, (_, step) =>
      call("write_file", { path: `note-${index}-${step}.md`, content: remark(index + step) }),
    );
    const first = turnOf(place, about, index * 2, { ...more, calls });
    return index % 8 === 0 ? [first, turnOf(place, "and what came of it?", index * 2 + 1, more)] : [first];
  }).flat();
}

/** Notes, of which each topic finds some. */
export function notes(count: number): string {
  const noteOf = (index: number) => {
    const topic = topics[index % topics.length];
    return `## Note ${index + 1} about ${topic}\n\n${remark(index)} That was case ${index * 7 + 3} of ${topic}.\n`;
  };
  return ["# Notes", "", ...Array.from({ length: count }, (_, index) => noteOf(index))].join("\n");
}
