/**
 * Baseline: a bot built as in the discord.js guide, without memory, gate, queue or ledger. On a mention, it calls the model
 * through the same SDK, posts the first words in a thread, and edits them into the full answer.
 */
import Anthropic from "@anthropic-ai/sdk";
import { Client, Events, GatewayIntentBits, type Message } from "discord.js";

const { DISCORD_TOKEN: token = "", DISCORD_API_URL: api = "" } = process.env;
const model = new Anthropic({ maxRetries: 0 });
const client = new Client({
  intents: [GatewayIntentBits.Guilds, GatewayIntentBits.GuildMessages, GatewayIntentBits.MessageContent],
  rest: { api },
});

client.on(Events.MessageCreate, async (message) => {
  if (message.author.bot || client.user === null || !message.mentions.has(client.user)) return;
  const messages = [{ role: "user" as const, content: message.content }];
  let text = "";
  let answer: Promise<Message> | undefined;
  for await (const part of model.messages.stream({ model: "any", max_tokens: 1024, messages })) {
    if (part.type !== "content_block_delta" || part.delta.type !== "text_delta") continue;
    text += part.delta.text;
    answer ??= message.startThread({ name: "Answer" }).then((thread) => thread.send(text));
  }
  await (await answer)?.edit(text);
});

await client.login(token);
process.stdout.write("ready\n");
