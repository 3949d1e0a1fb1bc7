/** Slack's double, driven by the real Bolt. */
import { App, LogLevel } from "@slack/bolt";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createSlackDouble, type SlackDouble } from "./slack/double.ts";

let slack: SlackDouble;
let apps: App[] = [];
beforeEach(async () => {
  slack = await createSlackDouble();
});
afterEach(async () => {
  for (const app of apps) await app.stop().catch(() => {});
  apps = [];
  await slack.stop();
});

async function connect(prepare: (app: App) => void = () => {}): Promise<App> {
  const app = new App({
    token: slack.botToken,
    appToken: slack.appToken,
    socketMode: true,
    logLevel: LogLevel.ERROR,
    clientOptions: { slackApiUrl: slack.apiUrl },
  });
  prepare(app);
  apps.push(app);
  await app.start();
  return app;
}

describe("over sockets", () => {
  test("a mention is heard as a message and as a mention, and its answer is seen in the thread", async () => {
    await connect((app) => {
      app.event("app_mention", async ({ event, say }) => {
        await say({ text: `you said ${event.text}`, thread_ts: event.ts });
      });
    });
    const said = slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora is 1 < 2?" });
    await said.acknowledged();
    const answer = await slack.until(() => slack.see({ in: slack.general, thread: said.ts })[1]);
    expect(answer.readable).toContain("is 1 < 2?");
    expect(said.deliveries.map((delivery) => (delivery.payload.event as { type: string }).type)).toEqual([
      "message",
      "app_mention",
    ]);
  });

  test("a button opens a modal, whose answers come back", async () => {
    const submitted: unknown[] = [];
    await connect((app) => {
      app.event("app_mention", async ({ say }) => {
        await say({
          text: "well?",
          blocks: [
            {
              type: "actions",
              elements: [{ type: "button", action_id: "go", text: { type: "plain_text", text: "Go" }, value: "x" }],
            },
          ],
        });
      });
      app.action("go", async ({ ack, body, client }) => {
        await ack();
        await client.views.open({
          trigger_id: (body as { trigger_id: string }).trigger_id,
          view: {
            type: "modal",
            callback_id: "edit",
            title: { type: "plain_text", text: "Edit" },
            submit: { type: "plain_text", text: "OK" },
            blocks: [
              {
                type: "input",
                block_id: "b",
                label: { type: "plain_text", text: "Arguments" },
                element: { type: "plain_text_input", action_id: "json", initial_value: "{}" },
              },
            ],
          },
        });
      });
      app.view("edit", async ({ ack, view }) => {
        submitted.push(view.state.values.b?.json?.value);
        await ack();
      });
    });
    slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora go" });
    const card = await slack.until(() =>
      slack.see({ in: slack.general }).find((message) => message.buttons.length > 0),
    );
    await slack.interactions
      .click({ as: slack.ann, on: { channel: slack.general, ts: card.ts }, button: "Go" })
      .acknowledged();
    const view = await slack.until(() => slack.views.stack(slack.ann)[0]);
    await slack.interactions.submit({ as: slack.ann, view, values: { json: '{"a":1}' } }).acknowledged();
    expect(submitted).toEqual(['{"a":1}']);
    expect(slack.views.stack(slack.ann)).toEqual([]);
  });
});
