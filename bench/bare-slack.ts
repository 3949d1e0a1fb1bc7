/**
 * Baseline: a bot built as in Bolt's guide, without memory, gate, queue or ledger. On a mention by Socket Mode, it calls the
 * model through the same SDK and streams the answer into the thread.
 */
import Anthropic from "@anthropic-ai/sdk";
import { App, LogLevel } from "@slack/bolt";

const { SLACK_BOT_TOKEN: token = "", SLACK_APP_TOKEN: appToken = "", SLACK_API_URL: slackApiUrl = "" } = process.env;
const model = new Anthropic({ maxRetries: 0 });
const app = new App({ token, appToken, socketMode: true, logLevel: LogLevel.ERROR, clientOptions: { slackApiUrl } });

app.event("app_mention", async ({ event, sayStream }) => {
  const answer = sayStream?.();
  if (answer === undefined) return;
  const messages = [{ role: "user" as const, content: event.text }];
  for await (const part of model.messages.stream({ model: "any", max_tokens: 1024, messages })) {
    if (part.type !== "content_block_delta" || part.delta.type !== "text_delta") continue;
    await answer.append({ markdown_text: part.delta.text });
  }
  await answer.stop();
});

await app.start();
process.stdout.write("ready\n");
