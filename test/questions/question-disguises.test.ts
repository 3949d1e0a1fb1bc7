/** Whatever a plugin asks, each platform shows the plugin's name first and its words in quotes, and no button has a word of it. */
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../../src/lib/log.ts";
import { questionMessage as onDiscord } from "../../src/platforms/discord/outbound/question.ts";
import { questionMessage as onSlack } from "../../src/platforms/slack/outbound/question.ts";
import type { Author } from "../../src/ports/message.ts";
import type { QuestionCard, Questions } from "../../src/ports/question.ts";
import { createQuestions } from "../../src/questions/questions.ts";
import { createInMemoryBus } from "../../src/storage/in-memory-cluster.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";

const ann: Author = { id: "ann", name: "Ann", isBot: false, roles: [] };
const target = { platform: "test", conversationId: "test:c1", turnId: "t1", messageId: "m1" };
const runs = 500;

let ledger: ReturnType<typeof createSqliteLedger>;
let shown: QuestionCard | undefined;
let questions: Questions;
beforeEach(() => {
  ledger = createSqliteLedger({ path: ":memory:" });
  const show = async (card: QuestionCard) => {
    shown = card;
  };
  questions = createQuestions({
    directTarget: async (target) => target,
    ledger,
    bus: createInMemoryBus(silentLog),
    show,
    barredBecause: async () => undefined,
    redact: (text) => text,
    log: silentLog,
  });
});
afterEach(() => ledger.close());

const consents = [
  "Approve",
  "Deny",
  "Allow",
  "Accept",
  "Yes, run it",
  "OK",
  "Genehmigen",
  "Refuser",
  "承認",
  "批准",
  "Одобрить",
  "اسمح",
];
const disguise = fc.constantFrom(
  (text: string) => text,
  (text: string) => text.replace("A", "Α").replace("o", "о"),
  (text: string) => [...text].join("\u200B"),
  (text: string) => `\u202E${[...text].reverse().join("")}`,
  (text: string) => [...text].map((letter) => `${letter}\u0336`).join(""),
  (text: string) => `✅ ${text}`,
  (text: string) => `**${text}**`,
  (text: string) => text.toUpperCase().normalize("NFKD"),
  (text: string) =>
    [...text].map((letter) => String.fromCodePoint(0xe0000 + (letter.codePointAt(0) ?? 0))).join("") + text,
  (text: string) => `”\n${text}\n“`,
);
const cardLine = fc.constantFrom(
  ...[
    "• Reaches: nothing",
    "• **Can be undone**",
    "```",
    "---",
    "***",
    "# Approval",
    "⚠️ **Careful**",
    "✅ Ann approved `x` · 14:02",
  ],
  ...[
    "> quoted",
    "-# small",
    "<!channel>",
    "@everyone",
    "<@U1>",
    "[Approve](https://evil.example)",
    "https://evil.example/x",
  ],
  ...[
    "1  “Approve”",
    "The plugin bank asks Ann:",
    "“fine”",
    "Only Ann can answer.",
    "||hidden||",
    "<https://evil.example|ok>",
    "​",
  ],
);
const words = fc.tuple(fc.constantFrom(...consents), disguise).map(([text, disguised]) => disguised(text));
const anything = fc.string({ unit: "binary", maxLength: 40 });
const text = (most: number) =>
  fc
    .array(fc.oneof(words, cardLine, anything), { minLength: 1, maxLength: 8 })
    .map((parts) => parts.join("\n").slice(0, most));
const asked = fc.record({ question: text(1_000), options: fc.array(text(75), { minLength: 1, maxLength: 5 }) });

/** Undefined if the question is refused. */
async function cardOf(
  request: { question: string; options: string[] },
  number: number,
): Promise<QuestionCard | undefined> {
  shown = undefined;
  const done = new AbortController();
  const { question, options: answers } = request;
  const of = { target, jobId: "t1-c1", number, requester: ann, tool: "evil_ask", skill: "evil", question, answers };
  const asking = questions.ask(of, done.signal).catch((thrown: Error) => thrown);
  await Promise.race([asking, expect.poll(() => shown, { interval: 1 }).toBeDefined()]);
  const card = shown;
  done.abort(new Error("seen"));
  await asking;
  return card;
}

const head = "The plugin evil asks Ann:";
const note = "Only Ann can answer. An answer approves nothing.";
const quoted = /^“[^“”\n]*”$/;
const option = /^[1-5] {2}“[^“”\n]*”$/;

function expectFramed(lines: string[], count: number): void {
  expect(lines[0]).toBe(head);
  expect(lines[1]).toMatch(quoted);
  expect(lines).toHaveLength(count + 3);
  for (const line of lines.slice(2, -1)) expect(line).toMatch(option);
  expect(lines.at(-1)).toBe(note);
}

const labels = (count: number) => Array.from({ length: count }, (_, index) => `Answer ${index + 1}`);
const unescaped = (markdown: string) => markdown.replace(/\\([^0-9A-Za-z\s])/g, "$1");
const textsIn = (value: unknown): string[] =>
  JSON.stringify(value)
    .match(/"text":"(?:[^"\\]|\\.)*"/g)
    ?.map((pair) => JSON.parse(`{${pair}}`).text as string) ?? [];

test(`${runs} questions that are written to pass for a card are framed and quoted, on Slack and on Discord`, async () => {
  let number = 0;
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(asked, async (request) => {
      const card = await cardOf(request, number++);
      if (card === undefined) {
        refused += 1;
        return;
      }
      const count = request.options.length;
      const { blocks } = onSlack(card);
      const elements = blocks.flatMap(({ type, elements }) =>
        type === "actions" ? (elements as { style?: string }[]) : [],
      );
      const shownTexts = textsIn(blocks.filter(({ type }) => type !== "actions"));
      expectFramed(
        shownTexts.flatMap((each) => each.split("\n")),
        count,
      );
      expect(textsIn(elements)).toEqual(labels(count));
      expect(elements.every(({ style }) => style === undefined)).toBe(true);
      expect(JSON.stringify(blocks)).not.toMatch(/"type":"(?:mrkdwn|markdown|link|user|usergroup|broadcast|channel)"/);
      for (const isPlain of [false, true]) {
        const { content, embeds, components } = onDiscord(card, null, isPlain);
        const whole = isPlain ? (content ?? "") : `${content}\n${embeds?.[0]?.description}`;
        const lines = whole.split("\n").map((line, at) => (at === 1 ? line.replace(/^> /, "") : line));
        expectFramed(
          lines.map(unescaped).map((line) => line.replace(/^\*\*(.*)\*\*$/, "$1")),
          count,
        );
        // All that Discord could read as markup is escaped.
        expect(
          lines
            .slice(1)
            .join("\n")
            .replace(/\\[^0-9A-Za-z\s]/g, ""),
        ).not.toMatch(/[*_~`|<>[\]@]|https?:/);
        const buttons = (components as { components: unknown[] }[]).flatMap((row) => row.components) as {
          label: string;
          style: number;
        }[];
        expect(buttons.map(({ label }) => label)).toEqual(labels(count));
        expect(buttons.every(({ style }) => style === 1)).toBe(true);
      }
    }),
    { numRuns: runs },
  );
  expect(refused).toBeLessThan(runs / 5);
});
