import { randomUUID } from "node:crypto";
import type { StoredMessage } from "../../../src/platforms/local/chat-message.ts";
import type { AnswerChoice, AnswerReceipt } from "../../../src/ports/message.ts";
import { answerLabel, optionLine, type QuestionCard } from "../../../src/ports/question.ts";
import { describePlatform } from "../../conformance/platform.ts";
import { describePlatformAttacks } from "../../conformance/platform-attacks.ts";
import { type ChangesWorld, describePlatformChanges } from "../../conformance/platform-changes.ts";
import type { Saying, ShownMessage } from "../../conformance/platform-world.ts";
import { viewOf } from "./card-in-page.ts";
import { type LocalPage, openLocalPage } from "./local-page.ts";

describePlatform("local", async () => createWorld(await openLocalPage()));
describePlatformAttacks("local", async () => createWorld(await openLocalPage()));
describePlatformChanges("local", async () => createWorld(await openLocalPage()));

function createWorld(page: LocalPage): ChangesWorld {
  let body: Record<string, unknown> = {};
  let mention = "";
  let query = "";

  async function send(): Promise<void> {
    const response = await page.post("/local/api/messages", body);
    if (response.status !== 202) throw new Error(await response.text());
  }

  async function personOf(name: string): Promise<string> {
    if (name === "Ann") return "ann";
    const response = await page.post("/local/api/people", { name });
    return ((await response.json()) as { person: { id: string } }).person.id;
  }

  async function say({ text, where, as = "Ann" }: Saying): Promise<void> {
    const person = await personOf(as);
    const id = randomUUID();
    if (where === "mention") mention = id;
    const thread = where === "thread" ? mention : id;
    query = where === "dm" ? `person=${person}&place=dm:${person}` : `person=${person}&thread=${thread}`;
    const place = where === "dm" ? { dm: true } : { channel: "general", ...(where === "thread" ? { thread } : {}) };
    body = { ...place, id, person, text: where === "mention" ? `@remora ${text}` : text };
    await send();
  }

  async function shown(message: StoredMessage): Promise<ShownMessage> {
    const { card, files, text, activity, author, question } = message;
    const view = card === undefined ? undefined : viewOf(message);
    return {
      isAgents: author.isBot,
      text: [...[text, activity, view?.text], ...(question === undefined ? [] : questionLines(question))]
        .filter(Boolean)
        .join("\n"),
      choices: view?.choices ?? [],
      labels: view?.labels ?? [],
      ...(question === undefined
        ? {}
        : { options: question.isOpen ? question.options.map((_, at) => answerLabel(at)) : [] }),
      files: await Promise.all(
        files.map(async ({ id, name }) => ({
          name,
          content: await (await page.fetch(`/local/api/files/${id}`)).text(),
        })),
      ),
    };
  }

  async function answer(approvalId: string, choice: AnswerChoice, as: string, more = {}): Promise<string> {
    const card = (await page.messages(query)).find((message) => message.type === "card");
    const body = { person: await personOf(as), messageId: card?.id, cardOrApprovalId: approvalId, choice, ...more };
    const response = await page.post("/local/api/answers", body);
    const told = (await response.json()) as Partial<AnswerReceipt> & { error?: string };
    return [told.text ?? told.error, told.file?.text].filter(Boolean).join("\n");
  }

  return {
    get platform() {
      return page.platform;
    },
    say,
    repeat: send,
    click: (approvalId, choice, as = "Ann") => answer(approvalId, choice, as),
    choose: (approvalId, parts, as = "Ann") => answer(approvalId, "part", as, { parts }),
    async pick(questionId, option, as = "Ann") {
      const asked = (await page.messages(query)).find((message) => message.type === "question");
      const body = { person: await personOf(as), messageId: asked?.id, questionId, option };
      return ((await (await page.post("/local/api/picks", body)).json()) as { text: string }).text;
    },
    async shown() {
      const messages = await page.messages(query);
      return await Promise.all(messages.filter((message) => !message.isDeleted).map(shown));
    },
    restart: () => page.restart(),
    close: page.close,
  };
}

/** As the page shows it. */
function questionLines({ head, question, options, note }: QuestionCard): string[] {
  return [head, `“${question}”`, ...options.map(optionLine), note];
}
