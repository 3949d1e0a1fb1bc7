/** Reaching the people who can answer a card, through Discord. */
import { createDiscordDouble } from "../doubles/discord/double.ts";
import type { Person } from "../doubles/discord/people.ts";
import type { ChannelHandle } from "../doubles/discord/places.ts";
import type { SeenMessage } from "../doubles/discord/view.ts";
import { type NotifyDriver, type Seen, tellNotifications } from "./notify-story.ts";

async function createDriver(): Promise<NotifyDriver> {
  const discord = await createDiscordDouble();
  const { ann, ben, channel, guild } = discord;
  const [cara, dora] = [discord.addPerson("cara"), discord.addPerson("dora")];
  const people: Record<string, Person> = { ann, ben, cara, dora };
  for (const person of [cara, dora]) channel.permit(person, { deny: ["ViewChannel"] });
  const role = guild.addRole("ops", { isMentionable: true });
  ben.setRoles(guild, [role]);
  const names = new Map([...Object.entries(people).map(([name, { id }]) => [id, name] as const), [role.id, "ops"]]);
  const personCalled = (name: string) => people[name] ?? ann;
  const messages = new Map<string, SeenMessage>();
  const shut: { remove(): void }[] = [];

  function seen(place: string, message: SeenMessage): Seen {
    messages.set(message.id, message);
    const { users, roles, everyone } = message.pings;
    // Everything in a direct message notifies its person anyway.
    const pings = [...users, ...roles].map((id) => names.get(id) ?? id);
    const text = [message.content, JSON.stringify(message.embeds), JSON.stringify(message.components)].join("\n");
    return {
      id: message.id,
      text: text.replaceAll("\\", ""),
      pings: [...pings, ...(everyone ? ["everyone"] : [])],
      buttons: message.buttons.map(({ label }) => label),
      place,
    };
  }
  const agentsIn = (where: ChannelHandle | undefined, place: string) =>
    (where?.messages() ?? [])
      .filter(({ author, type }) => author.id === discord.bot.id && type !== 21)
      .map((message) => seen(place, message));
  const clickOn = (name: string, { id }: Seen, button: string) => {
    const message = messages.get(id);
    if (message === undefined) throw new Error(`nobody has seen message ${id}`);
    return personCalled(name).click(message, button);
  };

  return {
    env: () => ({ DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl }),
    approver: (name) => `user:discord:${personCalled(name).id}`,
    role: `role:${role.id}`,
    channel: `discord:${guild.id}:${channel.id}`,
    close: () => discord.stop(),
    until: (find) => discord.until(find, 60_000) as never,
    async ask(text) {
      const said = ann.say(`${discord.bot.mention} ${text}`, { in: channel });
      const thread = () => channel.threads().find(({ id }) => id === said.id);
      return { thread: () => agentsIn(thread(), "thread") };
    },
    remove(name, from) {
      if (from === "workspace") personCalled(name).leave(guild);
      else channel.permit(personCalled(name), { deny: ["ViewChannel"] });
    },
    openChannel(isOpen) {
      for (const fault of shut.splice(0)) fault.remove();
      if (isOpen) return;
      const refused = { type: "answer", status: 403, body: { message: "In a new way", code: 59999 } } as const;
      const dms = Object.values(people).map((person) => person.dm().id);
      const path = new RegExp(`^/channels/(?!${dms.join("|")})`);
      shut.push(discord.fail({ route: "messages.create", path, times: 1_000 }, refused));
    },
    openDms: (name, areOpen) => personCalled(name).acceptDms(areOpen),
    allowed({ id }) {
      const sent = discord.requests.find(({ answer }) => (answer as { id?: string } | undefined)?.id === id);
      const {
        users = [],
        roles = [],
        parse = [],
      } = (sent?.body as { allowed_mentions?: Record<string, string[]> } | undefined)?.allowed_mentions ?? {};
      return [...parse, ...users, ...roles].map((each) => names.get(each) ?? each);
    },
    dm: (name) => agentsIn(personCalled(name).dm(), name),
    async click(name, on, button) {
      const click = clickOn(name, on, button);
      await discord.until(() => click.state() === "answered", 60_000);
      return click.reply()?.content.replaceAll("\\", "") ?? "";
    },
    async handOver(name, on, to) {
      const menu = clickOn(name, on, "More…");
      const shown = await discord.until(() => menu.reply(), 60_000);
      const opened = personCalled(name).click(shown, "Hand over…");
      await discord.until(() => opened.modal() !== undefined, 60_000);
      const submitted = personCalled(name).submit(opened, { person: [personCalled(to).id] });
      await discord.until(() => submitted.state() === "answered", 60_000);
      return submitted.reply()?.content.replaceAll("\\", "") ?? "";
    },
  };
}

tellNotifications("Discord", createDriver, ["card-kept", "card-posted:2", "copy-opened"]);
