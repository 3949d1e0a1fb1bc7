/** Who reads a private channel's words, on Discord. */
import { createDiscordDouble } from "../doubles/discord/double.ts";
import type { SeenMessage } from "../doubles/discord/view.ts";
import { type AudienceDriver, tellAudience } from "./audience-story.ts";

async function createDriver(): Promise<AudienceDriver> {
  const discord = await createDiscordDouble();
  const { ann, ben, channel, guild, bot } = discord;
  const mallory = discord.addPerson("mallory");
  const hidden = guild.addChannel("hidden", { isPrivate: true });
  for (const who of [bot, ann, ben])
    hidden.permit(who, { allow: ["ViewChannel", "ReadMessageHistory", "SendMessages"] });
  const people = { ann, mallory };
  const textsOf = (messages: SeenMessage[]) =>
    messages
      .filter(({ author }) => author.id === bot.id)
      .map(({ content, embeds, components }) =>
        [content, JSON.stringify([embeds, components])].join("\n").replaceAll("\\", ""),
      )
      .join("\n");
  const agentsInDirect = (who: "ann" | "mallory") => textsOf(people[who].dm().messages());
  const cardIn = () =>
    ann
      .dm()
      .messages()
      .findLast(({ buttons }) => buttons.some(({ label }) => label === "Deny"));
  return {
    env: { DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl },
    ...{ open: channel.id, hidden: hidden.id },
    async confide(text, file) {
      const files = file === undefined ? {} : { files: [{ name: file.name, content: file.content }] };
      return ben.say(text, { in: hidden, ...files }).id;
    },
    async say(who, text, { thread, isMention = false, isDirect = false } = {}) {
      const opened = channel.threads().find(({ id }) => id === thread);
      const where = isDirect ? people[who].dm() : (opened ?? channel);
      const { id } = people[who].say(`${isMention ? `${bot.mention} ` : ""}${text}`, { in: where });
      return thread ?? id;
    },
    agentsInOpen: () => textsOf([channel, ...channel.threads()].flatMap((each) => each.messages())),
    agentsInDirect,
    openCard: () => textsOf([cardIn()].filter((card) => card !== undefined)),
    async click(button) {
      const on = cardIn();
      if (on === undefined) throw new Error("no card is open");
      const click = ann.click(on, button);
      await discord.until(() => click.state() === "answered", 30_000);
    },
    openDms: (areOpen) => ann.acceptDms(areOpen),
    close: () => discord.stop(),
  };
}

tellAudience("Discord", createDriver);
