import { randomUUID } from "node:crypto";
import type { StoredMessage } from "../../../src/platforms/local/chat-message.ts";
import { describePlatform, type PlatformWorld, type Saying, type ShownMessage } from "../../conformance/platform.ts";
import { type LocalPage, openLocalPage } from "./local-page.ts";

describePlatform("local", async () => createWorld(await openLocalPage()));

function createWorld(page: LocalPage): PlatformWorld {
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
    // What the page puts in, all of it as text (card-view.js).
    const lines = card?.items.flatMap((item) => [
      item.tool,
      item.times > 1 ? `${item.times} identical calls` : "",
      item.callText,
      item.editedFrom ?? "",
      ...item.reasons,
      item.warning ?? "",
      item.progress ?? "",
      item.outcome ?? "",
    ]);
    return {
      isAgents: author.isBot,
      text: [
        ...[text, activity, ...(lines ?? []), card?.approversText ?? ""],
        ...[question?.tool, question?.question, question?.requesterName, question?.outcome],
      ]
        .filter(Boolean)
        .join("\n"),
      choices: card?.items.flatMap((item) => item.choices) ?? [],
      ...(question === undefined ? {} : { options: question.outcome === undefined ? question.options : [] }),
      files: await Promise.all(
        files.map(async ({ id, name }) => ({
          name,
          content: await (await page.fetch(`/local/api/files/${id}`)).text(),
        })),
      ),
    };
  }

  return {
    get platform() {
      return page.platform;
    },
    say,
    repeat: send,
    async click(approvalId, choice, as = "Ann") {
      const card = (await page.messages(query)).find((message) => message.type === "card");
      const answer = { person: await personOf(as), messageId: card?.id, cardOrApprovalId: approvalId, choice };
      const told = (await (await page.post("/local/api/answers", answer)).json()) as { text?: string; error?: string };
      return told.text ?? told.error ?? "";
    },
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
