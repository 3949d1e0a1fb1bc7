import { createDiscordDouble } from "../../doubles/discord/double.ts";
import type { SeenMessage } from "../../doubles/discord/view.ts";
import type { ChatService, Place } from "./chat-service.ts";

/** The service's own line above a thread that was opened from a message. */
const threadStarter = 21;

export async function createDiscordService(): Promise<ChatService> {
  const discord = await createDiscordDouble({ limits: { global: "none", default: "none" } as never });
  const { ann, ben, channel, bot } = discord;
  const cleo = discord.addPerson("Cleo");
  const thread = cleo.startThread(channel, "Let us talk here");
  const places: Place[] = [
    { name: "Ann's DM", isOrdered: true, say: (text) => void ann.say(text, { in: "dm" }) },
    { name: "Ben's DM", isOrdered: true, say: (text) => void ben.say(text, { in: "dm" }) },
    { name: "a thread", isOrdered: true, say: (text) => void cleo.say(`${bot.mention} ${text}`, { in: thread }) },
    { name: "a channel", isOrdered: false, say: (text) => void ann.say(`${bot.mention} ${text}`, { in: channel }) },
  ];
  const newcomers: (typeof ann)[] = [];
  const rooms = () => [ann.dm(), ben.dm(), ...newcomers.map((person) => person.dm()), channel, ...channel.threads()];
  const own = () =>
    rooms()
      .flatMap((room) => room.messages())
      .filter(({ author, type, isEphemeral }) => author.id === bot.id && type !== threadStarter && !isEphemeral)
      .toSorted((one, other) => (BigInt(one.id) < BigInt(other.id) ? -1 : 1));
  const personIn = ({ channelId }: SeenMessage) => {
    if (channelId === ben.dm().id) return ben;
    return channelId === thread.id ? cleo : ann;
  };
  const cut = () =>
    discord.fail({ times: Number.POSITIVE_INFINITY }, { type: "cut", when: "before", isReset: true }).remove;
  return {
    env: { DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl },
    places,
    newcomer() {
      const person = discord.addPerson(`Newcomer ${newcomers.length + 1}`);
      newcomers.push(person);
      return { name: person.name, isOrdered: true, say: (text) => void person.say(text, { in: "dm" }) };
    },
    shown: () =>
      own().map(({ id, content, embeds, components, buttons, files }) => ({
        id,
        text: [content, JSON.stringify(embeds), JSON.stringify(components)].join("\n"),
        buttons: buttons.filter(({ isDisabled }) => !isDisabled).map(({ label }) => label),
        files: files.map(({ name }) => name),
        isOpen: false,
      })),
    press(messageId, button) {
      const message = own().find(({ id }) => id === messageId);
      if (message === undefined) throw new Error(`no message ${messageId}`);
      personIn(message).click(message, button);
    },
    away: cut,
    gone() {
      const back = cut();
      discord.gateway.refuse();
      discord.gateway.cut();
      return () => {
        discord.gateway.allow();
        back();
      };
    },
    refuseToken: () =>
      discord.fail(
        { times: Number.POSITIVE_INFINITY },
        { type: "answer", status: 401, body: { code: 0, message: "401: Unauthorized" } },
      ).remove,
    routes: [
      "messages.create",
      "messages.edit",
      "threads.create-from-message",
      "interactions.callback",
      "webhooks.edit",
      "messages.get",
      "messages.list",
    ],
    failRoute: (route) =>
      discord.fail(
        { route, times: Number.POSITIVE_INFINITY },
        { type: "answer", status: 503, body: { code: 0, message: "503: Service Unavailable" } },
      ).remove,
    stop: () => discord.stop(),
  };
}
