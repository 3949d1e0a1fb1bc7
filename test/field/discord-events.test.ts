/** Several events about one Discord message, in any order: it has one turn, and what comes later is not lost. */
import { describe, expect, test } from "vitest";
import { agent, bot, discord, useConnectedBot } from "../platforms/discord/connected-bot.ts";

useConnectedBot();

const kept = (id: string) => discord.until(() => agent.kept.find((message) => message.id === id));
const page = { type: "article", url: "https://news.example/a", title: "Storm", description: "It blows." };

/** Resolves once everything before has been handled. */
async function settled(): Promise<void> {
  await kept(discord.ann.say("done?", { in: discord.channel }).id);
}

async function mention(text: string): Promise<{ id: string; channelId: string }> {
  const said = discord.ann.say(`${discord.bot.mention} ${text}`, { in: discord.channel });
  await kept(said.id);
  return said;
}

describe("what comes later of a message", () => {
  test("a link's preview joins it as an attachment, its words stay, and nobody is asked twice", async () => {
    const said = await mention("see https://news.example/a");
    discord.channel.update(said, { embeds: [page] });
    await settled();
    expect(agent.edited).toEqual([{ id: said.id, text: "see https://news.example/a" }]);
    expect(agent.attached).toEqual(["link preview"]);
    expect(agent.delivered.filter(({ id }) => id === said.id)).toHaveLength(1);
  });

  test("a file that comes with the update joins the message, also if the update has nothing else", async () => {
    const said = await mention("what is in it?");
    const file = { id: "7", filename: "a.csv", size: 3, url: `${discord.url}/attachments/1/7/a.csv` };
    discord.channel.update(said, { attachments: [file] }, { isPartial: true });
    await settled();
    expect(agent.edited).toEqual([{ id: said.id, text: "what is in it?" }]);
    expect(agent.attached).toEqual(["a.csv"]);
  });

  test("an event that is sent twice, or says nothing new, changes nothing", async () => {
    const said = await mention("hello");
    discord.channel.repeat(said);
    discord.channel.update(said, { pinned: true });
    discord.gateway.repeat("MESSAGE_UPDATE", said.id);
    await settled();
    expect(agent.edited).toEqual([]);
    expect(agent.delivered.filter(({ id }) => id === said.id)).toHaveLength(1);
  });

  test("an update before its message counts when the message comes, and a deletion before it takes it back", async () => {
    const channel = discord.channel.id;
    const author = { id: discord.ann.id, username: "Ann" };
    const place = { channel_id: channel, guild_id: discord.guild.id, author, member: { roles: [] }, type: 0 };
    const [first, second] = [discord.ann.id, discord.ben.id].map((id) => String(BigInt(id) + (1n << 40n)));
    const said = (id: string | undefined, content: string, more = {}) => ({ ...place, id, content, ...more });
    const mentioned = `<@${discord.bot.id}>`;
    const bots = { mentions: [{ id: discord.bot.id, username: "Remora" }] };
    const edited_timestamp = new Date().toISOString();
    discord.gateway.send("MESSAGE_UPDATE", said(first, `${mentioned} the newer words`, { ...bots, edited_timestamp }));
    discord.gateway.send("MESSAGE_CREATE", said(first, `${mentioned} the older words`, bots));
    discord.gateway.send("MESSAGE_DELETE", { id: second, channel_id: channel, guild_id: discord.guild.id });
    discord.gateway.send("MESSAGE_CREATE", said(second, `${mentioned} a slip`, bots));
    await settled();
    expect(agent.addressed().map(({ text }) => text)).toEqual(["the newer words"]);
  });

  test("an edit of a message that nobody asked is for the log alone", async () => {
    const said = discord.ben.say("lunch at 12", { in: discord.channel });
    await kept(said.id);
    discord.ben.edit(said, "lunch at 1");
    discord.channel.update(said, { embeds: [page] });
    await settled();
    expect(agent.edited.map(({ text }) => text)).toEqual([
      "lunch at 1",
      "lunch at 1\n[link preview] Storm (https://news.example/a)\nIt blows.",
    ]);
    expect(agent.attached).toEqual([]);
  });

  test("the agent's own edits, and a webhook's, ask for nothing", async () => {
    const said = discord.channel.webhookSays("CI", "running");
    discord.channel.update(said, { content: "failed" }, { isEdit: true });
    await settled();
    const read = discord.requests.filter(({ route }) => route === "messages.get");
    expect([agent.edited, read, bot.logged]).toEqual([[], [], []]);
  });
});
