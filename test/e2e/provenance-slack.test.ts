/** Text from outside keeps its origin on Slack, as on the page (provenance.test.ts): over turns, a kill, notes and posts. */
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CallingModel, startCallingModel } from "../doubles/calling-model.ts";
import { startRemora } from "../doubles/remora-in-process.ts";
import {
  createHome,
  type RemoraHome,
  type RunningRemora,
  startRemora as startProcess,
} from "../doubles/remora-process.ts";
import { createSlackDouble, type SlackDouble } from "../doubles/slack/double.ts";
import type { Said } from "../doubles/slack/people.ts";
import type { SeenMessage } from "../doubles/slack/see.ts";
import { startWebSite, type WebSite } from "../doubles/web-site.ts";

let home: RemoraHome;
let model: CallingModel;
let site: WebSite;
let slack: SlackDouble;
let remora: RunningRemora;

beforeAll(async () => {
  [home, model, site, slack] = await Promise.all([
    createHome(),
    startCallingModel(),
    startWebSite(),
    createSlackDouble(),
  ]);
  site.on("/train", "<title>The train</title><article><p>The xylophone train leaves at ten.</p></article>");
  const web = { allow: [`127.0.0.1:${site.port}`], ports: [80, site.port] };
  await writeFile(join(dirname(home.data), "remora.yaml"), JSON.stringify({ skills: { settings: { web } } }));
});
afterAll(async () => {
  await remora.stop();
  await Promise.all([model.close(), site.close(), slack.stop(), home.remove()]);
});

async function begin<R extends RunningRemora>(start: (home: RemoraHome, env: Record<string, string>) => Promise<R>) {
  const tokens = { SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken, SLACK_API_URL: slack.apiUrl };
  const started = await start(home, {
    ...tokens,
    ANTHROPIC_API_KEY: "test-key",
    ANTHROPIC_BASE_URL: model.url,
    REMORA_CONFIG: join(dirname(home.data), "remora.yaml"),
  });
  remora = started;
  return started;
}

const call = (tool: string, input: object) => `call ${tool} ${JSON.stringify(input)}`;
const fetchPage = () => call("web_fetch", { url: `${site.origin}/train` });
const remind = (text: string) => call("schedule_add", { text, when: "in 3 hours", kind: "remind" });

/** A new thread, or the next message of one. */
function say(text: string, thread?: Said): Said {
  return slack.people.say({
    ...{ as: slack.ann, in: slack.general, text: `@Remora ${text}` },
    ...(thread === undefined ? {} : { thread }),
  });
}

function agentsIn({ ts }: { ts: string }, after: string): SeenMessage[] {
  const all = slack.see({ in: slack.general, thread: ts });
  return all.filter((message) => message.isAgents && message.ts > after);
}

const isCard = ({ buttons }: SeenMessage) => buttons.some(({ label }) => label === "Approve");

/** The finished answer, without an earlier question. */
async function runs(text: string, thread?: Said): Promise<{ said: Said; answer: SeenMessage }> {
  const said = say(text, thread);
  const answer = await slack.until(
    () =>
      agentsIn(thread ?? said, said.ts).find(
        (message) => isCard(message) || (message.readable.includes("Finished") && message.streaming !== "in_progress"),
      ),
    20_000,
  );
  expect(isCard(answer)).toBe(false);
  return { said: thread ?? said, answer };
}

/** The text of the card before the last call. */
async function asks(text: string, thread?: Said): Promise<string> {
  const said = say(text, thread);
  const card = await slack.until(() => agentsIn(thread ?? said, said.ts).find(isCard), 20_000);
  await slack.interactions
    .click({ as: slack.ann, on: { channel: slack.general, ts: card.ts }, button: "Deny" })
    .acknowledged();
  await slack.until(
    () => agentsIn(thread ?? said, said.ts).some(({ readable }) => readable.includes("Finished")),
    20_000,
  );
  return card.readable;
}

// The first test, because a process runs only to be killed.
test("a page taints later turns of its thread, even after a kill, and no other thread", async () => {
  const dying = await begin(startProcess);
  const { said } = await runs(fetchPage());
  expect(await asks(remind("Buy a ticket"), said)).toContain(
    `web: 127.0.0.1:${site.port}/train (by way of an earlier turn)`,
  );
  await dying.kill();
  await begin(startRemora);
  expect(await asks(remind("Buy two tickets"), said)).toContain("/train");
  await runs(remind("Water the plants"));
});

test("a note written after reading a page taints turns that recall it", async () => {
  await runs(
    `${fetchPage()} then ${call("remember", { title: "Xylophone", text: "The xylophone train leaves at ten." })}`,
  );
  expect(await asks(`${call("recall", { query: "xylophone train" })} then ${remind("Go")}`)).toContain(
    "recalled memory",
  );
});

test("an invented address is not fetched, and an outside image stays a link in the answer", async () => {
  const leak = `{"url":"http:\\/\\/127.0.0.1:${site.port}\\/the-password-is-banana"}`;
  const { answer } = await runs(`${fetchPage()} then call web_fetch ${leak}`);
  expect(answer.readable).toContain("is new, and this turn has read text from outside");
  expect(site.requests.map(({ path }) => path)).not.toContain("/the-password-is-banana");
  const picture = `![chart](http://127.0.0.1:${site.port}/pixel.png?d=banana)`;
  const shown = await runs(`${fetchPage()} then ${call("shell_exec", { command: `echo '${picture}'` })}`);
  expect(JSON.stringify(shown.answer)).not.toContain('"type":"image"');
  expect(site.requests.some(({ path }) => path.startsWith("/pixel.png"))).toBe(false);
});
