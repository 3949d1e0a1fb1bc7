/** Changes to a configured folder, through Discord. */
import { describe } from "vitest";
import { createDiscordDouble } from "../doubles/discord/double.ts";
import type { InteractionHandle } from "../doubles/discord/people-interactions.ts";
import type { SeenMessage } from "../doubles/discord/view.ts";
import { rendered } from "../platforms/discord/rendering.ts";
import { type ChangesDriver, tellChanges } from "./changes-story.ts";

const isCard = ({ components }: SeenMessage) => components?.some(({ type }) => type !== 1) === true;
const cardText = (message: SeenMessage) => rendered(message).text;

async function createDriver(): Promise<ChangesDriver> {
  const discord = await createDiscordDouble();
  const answered = async (interaction: InteractionHandle) => {
    await discord.until(() => interaction.state() === "answered", 20_000);
  };
  return {
    conversation: `discord:${discord.guild.id}:${discord.channel.id}`,
    env: { DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl },
    connect: async () => {},
    close: () => discord.stop(),
    async ask(text) {
      const said = discord.ann.say(`${discord.bot.mention} ${text}`, { in: discord.channel });
      const own = () => {
        const messages =
          discord.channel
            .threads()
            .find(({ id }) => id === said.id)
            ?.messages() ?? [];
        return messages.filter(({ author, type }) => author.id === discord.bot.id && type !== 21);
      };
      const newest = async () => await discord.until(() => own().findLast(isCard), 20_000);
      return {
        async say(more) {
          // The thread is opened with the first words in it.
          await discord.until(() => discord.channel.threads().some(({ id }) => id === said.id), 20_000);
          discord.ann.say(more, { in: said.id });
        },
        answers: async () =>
          own()
            .filter((message) => !isCard(message))
            .map(({ content }) => content)
            .join("\n"),
        cards: async () =>
          own()
            .filter(isCard)
            .map((message) => ({ text: cardText(message), buttons: message.buttons.map(({ label }) => label) })),
        press: async (button, by = "Ann") =>
          await answered((by === "Ann" ? discord.ann : discord.ben).click(await newest(), button)),
        async whole() {
          const message = await newest();
          const hasDiff = message.buttons.some(({ label }) => label === "Show diff");
          const click = hasDiff ? discord.ann.click(message, "Show diff") : undefined;
          if (click !== undefined) await answered(click);
          const shown = [message, ...(click?.replies() ?? [])];
          const texts = shown.flatMap((each) => [each.content, ...each.files.map(({ text }) => text)]);
          return [cardText(message), ...texts].join("\n");
        },
        async allow() {
          const more = discord.ann.click(await newest(), "More…");
          const menu = await discord.until(() => (more.reply()?.buttons.length ? more.reply() : undefined), 20_000);
          const opened = discord.ann.click(menu, "Allow here for 30 min…");
          await discord.until(() => opened.modal(), 20_000);
          await answered(discord.ann.submit(opened));
        },
        async choose(paths) {
          const click = discord.ann.click(await newest(), "Choose files…");
          const modal = await discord.until(() => click.modal(), 20_000);
          const options = [...modal.checkboxes, ...modal.menus][0]?.options ?? [];
          const files = options.filter(({ label }) => paths.includes(label)).map(({ value }) => value);
          await answered(discord.ann.submit(click, { files }));
        },
      };
    },
  };
}

describe("changes on Discord", () => {
  tellChanges(createDriver);
});
