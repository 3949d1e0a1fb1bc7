/** The conversations of bench/cost.ts: what people say, and what the scripted model calls and answers. */

export interface Turn {
  /** A thread's name, or `dm`. */
  place: string;
  text: string;
  files?: { name: string; content: string }[];
  /** One a step. */
  calls?: { tool: string; input: object }[];
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

/** Of about 90 words. */
function turnOf(place: string, text: string, index: number, more: Partial<Turn> = {}): Turn {
  const said = [0, 1, 3, 4].map((offset) => remarks[(index + offset) % remarks.length]);
  const answer = `No. ${index + 1}. ${said.join(" ")}`;
  return { place, text, answer, minutes: 1 + (index % 2), ...more };
}

/** Lines of everyday work in one thread, which come back to the same topics. */
export function oneLiners(count: number, minutes?: number): Turn[] {
  return Array.from({ length: count }, (_, index) => {
    const topic = topics[(index * 4) % topics.length] ?? "";
    const text = `${(questions[index % questions.length] ?? "").replace("TOPIC", topic)} (${index + 1})`;
    return turnOf("main", text, index, minutes === undefined ? {} : { minutes });
  });
}

const rows = Array.from(
  { length: 40 },
  (_, row) => `2026-11-${(row % 28) + 1},${["North", "South"][row % 2]},${row * 3}`,
);
const sales = ["day,region,amount", ...rows, ""].join("\n");
const plan = [
  "# Launch of the new price list",
  ...Array.from({ length: 25 }, (_, index) => `- ${index + 1}. ${remarks[index % remarks.length]}`),
].join("\n");

/** Every third turn calls a tool. */
export function withTools(turns: Turn[]): Turn[] {
  const [write, read] = [
    { tool: "write_file", input: { path: "sales.csv", content: sales } },
    { tool: "read_file", input: { path: "sales.csv" } },
  ];
  return turns.map((turn, index) => (index % 3 === 0 ? { ...turn, calls: [index === 0 ? write : read] } : turn));
}

/** 12 turns in a thread, 5 mentions in others, and a DM; 32 requests. */
export function story(): Turn[] {
  const shell = (command: string, network?: string[]) => ({
    tool: "shell_exec",
    input: { command, ...(network ? { network } : {}) },
  });
  const named = (name: string, input: object) => ({ tool: "use_tool", input: { name, input } });
  const load = (name: string) => ({ tool: "load_skill", input: { name } });
  const read = { tool: "read_file", input: { path: "sales.csv" } };
  const thread: [string, Partial<Turn>?][] = [
    ["we launch the new price list on Thursday. what should we not forget?"],
    ["here is the plan. what is missing?", { files: [{ name: "plan.md", content: plan }] }],
    [
      "and these are the sales. keep them in the folder",
      {
        files: [{ name: "november.csv", content: sales }],
        calls: [{ tool: "write_file", input: { path: "sales.csv", content: sales } }],
      },
    ],
    ["which region sold more?", { calls: [read, load("data"), named("data_describe", { path: "sales.csv" })] }],
    ["ok, and the total?", { calls: [shell("wc -l sales.csv && head -5 sales.csv")] }],
    ["can you look at how we review code here?", { calls: [load("code-review")] }],
    ["publish it, please", { calls: [shell("echo published", ["example.com"])] }],
    ["thanks! how long did that take?"],
    [
      "keep in mind that Mara signs the price list",
      {
        calls: [
          {
            tool: "remember",
            input: { text: "Mara signs the price list before it is published.", title: "Who signs the price list" },
          },
        ],
      },
    ],
    [
      "write the checklist",
      {
        calls: [
          { tool: "write_file", input: { path: "checklist.md", content: "- plan\n- sales\n- Mara's signature\n" } },
          shell("cat checklist.md"),
        ],
      },
    ],
    ["who signs?", { calls: [{ tool: "recall", input: { query: "who signs the price list" } }, read] }],
    [
      "then we are done, aren't we?",
      { calls: [{ tool: "read_file", input: { path: "checklist.md" } }, shell("ls -la")] },
    ],
  ];
  const others = [...[1, 2, 3, 4, 5].map((number) => `side${number}`), "dm"];
  return [
    ...thread.map(([text, more], index) => turnOf("main", text, index, more)),
    ...others.map((place, index) =>
      turnOf(place, (questions[index] ?? "").replace("TOPIC", topics[index] ?? ""), 12 + index),
    ),
  ];
}

/** Notes, of which each topic finds some. */
export function notes(count: number): string {
  const noteOf = (index: number) => {
    const topic = topics[index % topics.length] ?? "";
    return `## Note ${index + 1} about ${topic}\n\n${remarks[index % remarks.length]} That was case ${index * 7 + 3} of ${topic}.\n`;
  };
  return ["# Notes", "", ...Array.from({ length: count }, (_, index) => noteOf(index))].join("\n");
}
