/** What the web skill asks about, in the real application: pages and their links run unasked, an address that could carry something does not. */
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stringify } from "yaml";
import { type CallingModel, startCallingModel } from "../doubles/calling-model.ts";
import { type ChatClient, createChatClient, type SeenMessage } from "../doubles/chat-client.ts";
import { createHome, type RemoraHome, type RunningRemora, startRemora } from "../doubles/remora-in-process.ts";
import { startWebSite, type WebSite } from "../doubles/web-site.ts";

let home: RemoraHome;
let model: CallingModel;
let site: WebSite;
let remora: RunningRemora;
let ann: ChatClient;
const long = "q=what+the+person+has+told+in+confidence+and+more";

beforeAll(async () => {
  [home, model, site] = await Promise.all([createHome(), startCallingModel(), startWebSite()]);
  const config = join(dirname(home.data), "remora.yaml");
  await writeFile(config, stringify({ skills: { settings: { web: { allow: [`127.0.0.1:${site.port}`] } } } }));
  const env = { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url, REMORA_CONFIG: config };
  remora = await startRemora(home, env);
  ann = await createChatClient(remora.url, remora.token);
  site.on("/start", `<article><p>Read <a href="/next?${long}">the next page</a>.</p></article>`);
  site.on("/next", "<p>The next page.</p>");
});
afterAll(async () => {
  ann.close();
  await remora.stop();
  await Promise.all([model.close(), site.close(), home.remove()]);
});

const call = (tool: string, path: string) => `call ${tool} ${JSON.stringify({ url: site.origin + path })}`;
const cardsOf = (said: SeenMessage) =>
  [...ann.seen.values()].filter(({ type, thread }) => type === "card" && thread === said.id);
const finished = (said: SeenMessage) =>
  ann.waitFor(
    ({ author, thread, text, state }) =>
      author.isBot && thread === said.id && /Finished/.test(text) && state === "done",
  );

test("a page, then a link that it has shown, is nothing to ask about", async () => {
  const said = await ann.say(`@remora ${call("web_fetch", "/start")} then ${call("web_fetch", `/next?${long}`)}`);
  expect((await finished(said)).text).toContain("The next page.");
  expect(cardsOf(said)).toEqual([]);
});

test("an address of the model's own making asks once something foreign was read, and only then", async () => {
  const own = call("web_fetch_any", `/next?${long}+secret`);
  const first = await ann.say(`@remora ${own}`);
  expect((await finished(first)).text).toContain("The next page.");
  expect(cardsOf(first)).toEqual([]);

  const asked = site.requests.length;
  const said = await ann.say(
    `@remora ${call("web_fetch", "/start")} then ${call("web_fetch_any", `/next?${long}+more`)}`,
  );
  const card = await ann.cardFor(said);
  expect(card.card?.items[0]?.why.join()).toContain("could send information out");
  expect(site.requests).toHaveLength(asked + 1);
  await ann.click(card, "deny");
  await finished(said);
  expect(site.requests).toHaveLength(asked + 1);
});
