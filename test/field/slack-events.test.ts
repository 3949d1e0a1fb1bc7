/** Two events of one message, in the orders and at the distances in which Slack sends them: one turn, one answer, nothing lost. */
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CallingModel, startCallingModel } from "../doubles/calling-model.ts";
import { startRemora } from "../doubles/remora-in-process.ts";
import { createHome, type RemoraHome, type RunningRemora } from "../doubles/remora-process.ts";
import { createSlackDouble, type SlackDouble } from "../doubles/slack/double.ts";
import type { Said, Saying } from "../doubles/slack/people.ts";

let home: RemoraHome;
let model: CallingModel;
let slack: SlackDouble;
let remora: RunningRemora;
/** Requests with this word wait until they are let go. */
const held = new Map<string, PromiseWithResolvers<void>>();

beforeAll(async () => {
  const answer = async (sent: string) => {
    const last = caseOf(sent);
    await held.get(last)?.promise;
    return sent.includes(`secret of ${last}`) ? `${last}: I have read it.` : `${last}: there is no file.`;
  };
  [home, model, slack] = await Promise.all([createHome(), startCallingModel(answer), createSlackDouble()]);
  await writeFile(join(dirname(home.data), "remora.yaml"), "{}");
  remora = await startRemora(home, {
    ...{ SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken, SLACK_API_URL: slack.apiUrl },
    ...{ ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url },
    REMORA_CONFIG: join(dirname(home.data), "remora.yaml"),
  });
});
afterAll(async () => {
  await remora.stop();
  await Promise.all([model.close(), slack.stop(), home.remove()]);
});

function say(word: string, more: Partial<Saying> = {}): Said {
  const files = [{ name: "note.txt", content: `the secret of ${word}` }];
  return slack.people.say({ as: slack.ann, in: slack.general, text: `@Remora read ${word}`, files, ...more });
}

const answersTo = ({ ts }: Said) => slack.see({ in: slack.general, thread: ts }).filter(({ isAgents }) => isAgents);
/** The newest one. Before it, a request may have what others said in the channel. */
const caseOf = (sent: string) => [...sent.matchAll(/case-\w+/g)].at(-1)?.[0] ?? "";
const requestsWith = (word: string) => model.requests.filter((sent) => caseOf(sent) === word);

async function answeredBy(said: Said, words: string): Promise<void> {
  const isThere = () => answersTo(said).some(({ readable }) => readable.includes(words));
  await slack.until(isThere, 60_000).catch(() => {});
  expect(
    answersTo(said)
      .map(({ readable }) => readable)
      .join("\n"),
  ).toContain(words);
  expect(answersTo(said)).toHaveLength(1);
}

async function acknowledged(deliveries: ReturnType<Said["also"]>): Promise<void> {
  await Promise.all(deliveries.map((delivery) => delivery.acknowledged()));
}

test("the event with the file joins a message that waits for another turn", async () => {
  held.set("case-busy", Promise.withResolvers());
  const busy = say("case-busy");
  await slack.until(() => requestsWith("case-busy").length === 1);
  const said = say("case-queued", { thread: busy, mentionFirst: "mention" });
  await said.acknowledged();
  await acknowledged(said.also("message"));
  await acknowledged(said.also("mention"));
  held.get("case-busy")?.resolve();
  await slack.until(() => requestsWith("case-queued").length > 0);
  await slack.until(() => answersTo(busy).some(({ readable }) => readable.includes("case-queued: I have read it.")));
  expect(answersTo(busy)).toHaveLength(2);
  expect(requestsWith("case-queued")).toHaveLength(1);
});

test("the event with the file is told to the turn that runs, whose first answer nobody keeps", async () => {
  held.set("case-late", Promise.withResolvers());
  const said = say("case-late", { mentionFirst: "mention" });
  await slack.until(() => requestsWith("case-late").length === 1);
  await acknowledged(said.also("message"));
  held.get("case-late")?.resolve();
  await answeredBy(said, "case-late: I have read it.");
  expect(answersTo(said)[0]?.readable).not.toContain("there is no file");
  expect(requestsWith("case-late")).toHaveLength(2);
  await acknowledged(said.also("message"));
  await acknowledged(said.also("mention"));
  expect(answersTo(said)).toHaveLength(1);
});

test("a mention without words waits for the event with its file", async () => {
  const said = say("case-bare", { text: "@Remora", mentionFirst: "mention" });
  await said.acknowledged();
  await acknowledged(said.also("message"));
  await slack.until(() => requestsWith("case-bare").length === 1);
  await answeredBy(said, "case-bare: I have read it.");
});

test("an edit of the words is told to the turn that runs", async () => {
  held.set("case-edit", Promise.withResolvers());
  const said = say("case-edit", { files: [] });
  await slack.until(() => requestsWith("case-edit").length === 1);
  await acknowledged(slack.people.edit(said, "@Remora read the secret of case-edit").deliveries);
  held.get("case-edit")?.resolve();
  await answeredBy(said, "case-edit: I have read it.");
  expect(requestsWith("case-edit").filter((sent) => sent.includes("I have edited my message"))).toHaveLength(1);
});

test("both events at once, in either order, are one turn with the file", async () => {
  for (const order of [true, false]) {
    const word = `case-both-${order}`.replace(/-(?=true|false)/, "");
    const said = say(word, { mentionFirst: order });
    await said.acknowledged();
    await answeredBy(said, `${word}: I have read it.`);
    expect(requestsWith(word)).toHaveLength(1);
  }
});

test("a file whose event comes after the answer is no second turn", async () => {
  const said = say("case-over", { mentionFirst: "mention" });
  await answeredBy(said, "case-over: there is no file.");
  await slack.until(() => slack.sessions.list().every(({ status }) => status !== "processing"));
  await acknowledged(said.also("message"));
  const next = say("case-next");
  await answeredBy(next, "case-next: I have read it.");
  expect(answersTo(said)).toHaveLength(1);
  expect(requestsWith("case-over")).toHaveLength(1);
});
