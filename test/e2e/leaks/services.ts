/** Slack and Discord as places of the leaks' generator: people and channels of its own for each variant, and what each of them shows. */
import { createDiscordDouble } from "../../doubles/discord/double.ts";
import type { SeenMessage } from "../../doubles/discord/view.ts";
import { createSlackDouble } from "../../doubles/slack/double.ts";
import type { Channel } from "../../doubles/slack/state.ts";

/**
 * Ann and Mallory read `open`, `thread` of it, `other`, `group` and `town`; Ann, Ben and the agent read `hidden`; Ann alone reads `dm`.
 * Everybody in the workspace reads `open` and `town`.
 */
export type PlaceName = "open" | "other" | "group" | "dm" | "hidden" | "town";
export type Who = "ann" | "mallory" | "ben";

export interface AgentsMessage {
  place: PlaceName;
  id: string;
  text: string;
  buttons: string[];
  reactions: string[];
  click(who: Who, button: string): void;
}

export interface Scene {
  annsId: string;
  /** How tools name the place. */
  idOf(place: PlaceName): string;
  /** Resolves with the id as tools name it. `thread`: such an id. */
  say(
    who: Who,
    place: PlaceName,
    text: string,
    more?: { thread?: string | undefined; file?: { name: string; content: string }; isMention?: boolean },
  ): string;
  linkTo(id: string): string;
  /** The agent's messages that Ann sees. */
  seen(): AgentsMessage[];
  reactions(): string;
  /** All that the agent has ever shown where Mallory reads, also what was edited away. */
  shownWidely(): string;
}

export interface Service {
  name: "Slack" | "Discord";
  env: Record<string, string>;
  open(id: string): Scene;
  close(): Promise<void>;
}

export async function createSlack(): Promise<Service> {
  const slack = await createSlackDouble();
  slack.limits.isEnforced = false;
  const { ben, workspace } = slack;
  const town = workspace.addChannel({ name: "town" });
  return {
    name: "Slack",
    env: { SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken, SLACK_API_URL: slack.apiUrl },
    open(id) {
      const [ann, mallory] = [workspace.addPerson({ name: `Ann ${id}` }), workspace.addPerson({ name: `Mal ${id}` })];
      const people = { ann, mallory, ben };
      const places: Record<PlaceName, Channel> = {
        open: workspace.addChannel({ name: `open-${id}`, members: [ann, mallory] }),
        other: workspace.addChannel({ name: `other-${id}`, isPrivate: true, members: [ann, mallory] }),
        hidden: workspace.addChannel({ name: `hidden-${id}`, isPrivate: true, members: [ann, ben] }),
        group: workspace.direct(ann, mallory),
        dm: workspace.direct(ann),
        town,
      };
      town.members.add(ann.id).add(mallory.id);
      const wide = [places.open, places.other, places.group, town, workspace.direct(mallory)];
      const wideIds = new Set(wide.map((channel) => channel.id));
      const firstCall = slack.calls.length;
      return {
        annsId: ann.id,
        idOf: (place) => places[place].id,
        say(who, place, text, { thread, file, isMention = false } = {}) {
          const said = slack.people.say({
            ...{ as: people[who], in: places[place], text: `${isMention ? "@Remora " : ""}${text}` },
            ...(thread === undefined ? {} : { thread: thread.split(":")[1] ?? "" }),
            ...(file === undefined ? {} : { files: [file] }),
          });
          return `${places[place].id}:${said.ts}`;
        },
        linkTo(message) {
          const [channel, ts = ""] = message.split(":");
          return `https://${slack.state.team.domain}.slack.com/archives/${channel}/p${ts.replace(".", "")}`;
        },
        seen: () =>
          (Object.keys(places) as PlaceName[]).flatMap((place) =>
            slack
              .see({ in: places[place], as: ann })
              .filter(({ isAgents }) => isAgents)
              .map(({ ts, readable, buttons, files, reactions }) => ({
                ...{ place, id: ts, text: [readable, ...files.map(({ name, content }) => name + content)].join("\n") },
                ...{ buttons: buttons.map(({ label }) => label), reactions: reactions.map(({ name }) => name) },
                click(who, button) {
                  const clicked = slack.interactions.click({
                    as: people[who],
                    on: { channel: places[place], ts },
                    button,
                  });
                  clicked.acknowledged().catch(() => {});
                },
              })),
          ),
        reactions: () =>
          JSON.stringify(
            slack.state.messages
              .filter(({ channel }) => Object.values(places).some(({ id: each }) => each === channel))
              .map(({ reactions }) => reactions),
          ),
        shownWidely() {
          const calls = slack.calls
            .slice(firstCall)
            .filter(
              ({ method, args }) =>
                wideIds.has(String(args.channel ?? args.channel_id)) && method !== "chat.postEphemeral",
            )
            .map(({ args }) => JSON.stringify(args));
          const shared = [...slack.state.files.values()]
            .filter(
              ({ shares, userId }) => userId === workspace.app.id && shares.some(({ channel }) => wideIds.has(channel)),
            )
            .map(({ name, title, content }) => [name, title, content.toString()].join("\n"));
          const now = slack.state.messages
            .filter(
              ({ channel, user, onlyFor }) => wideIds.has(channel) && user === workspace.app.id && onlyFor !== ann.id,
            )
            .map((message) => JSON.stringify(message));
          return [...calls, ...shared, ...now].join("\n");
        },
      };
    },
    close: () => slack.stop(),
  };
}

export async function createDiscord(): Promise<Service> {
  const discord = await createDiscordDouble({ limits: "none" });
  const { ben, guild, bot } = discord;
  const town = guild.addChannel("town");
  return {
    name: "Discord",
    env: { DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl },
    open(id) {
      const [ann, mallory] = [discord.addPerson(`ann${id}`), discord.addPerson(`mal${id}`)];
      const people = { ann, mallory, ben };
      const closed = (name: string, members: { id: string }[]) => {
        const channel = guild.addChannel(`${name}-${id}`, { isPrivate: true });
        for (const who of [bot, ...members])
          channel.permit(who, {
            allow: [
              "ViewChannel",
              "ReadMessageHistory",
              "SendMessages",
              "CreatePublicThreads",
              "SendMessagesInThreads",
            ],
          });
        return channel;
      };
      const open = guild.addChannel(`open-${id}`);
      // Bots are in no group DMs here; a private thread is the same: some people of a place.
      const group = ann.startThread(open, `group-${id}`, { isPrivate: true });
      group.addToThread(mallory, bot);
      const places = {
        ...{ open, group, town, dm: ann.dm() },
        ...{ other: closed("other", [ann, mallory]), hidden: closed("hidden", [ann, ben]) },
      };
      const withThreads = (place: PlaceName) => [
        places[place],
        ...places[place].threads().filter((each) => each.id !== group.id),
      ];
      const wide = () => [...(["open", "other", "group", "town"] as const).flatMap(withThreads), mallory.dm()];
      const textOf = ({ content, embeds, components, files, earlierContents }: SeenMessage) =>
        [
          ...[content, ...earlierContents, JSON.stringify([embeds, components]).replaceAll("\\", "")],
          ...files.map(({ name, text }) => name + text),
        ].join("\n");
      const firstRequest = discord.requests.length;
      return {
        annsId: ann.id,
        idOf: (place) => places[place].id,
        say(who, place, text, { thread, file, isMention = false } = {}) {
          const at = places[place].threads().find(({ id: each }) => each === thread) ?? places[place];
          const files = file === undefined ? {} : { files: [file] };
          return people[who].say(`${isMention ? `${bot.mention} ` : ""}${text}`, { in: at, ...files }).id;
        },
        linkTo: (message) => `https://discord.com/channels/${guild.id}/${places.hidden.id}/${message}`,
        seen: () =>
          (Object.keys(places) as PlaceName[]).flatMap((place) =>
            withThreads(place).flatMap((channel) =>
              (place === "dm" ? channel.messages() : ann.sees(channel))
                .filter(({ author }) => author.id === bot.id)
                .map((message) => ({
                  ...{ place, id: message.id, text: textOf(message) },
                  buttons: message.buttons.filter(({ isDisabled }) => !isDisabled).map(({ label }) => label),
                  reactions: message.reactions.map(({ emoji }) => emoji),
                  click: (who: Who, button: string) => void people[who].click(message, button),
                })),
            ),
          ),
        reactions: () =>
          JSON.stringify(Object.values(places).flatMap((each) => each.messages().map(({ reactions }) => reactions))),
        shownWidely() {
          const channels = wide();
          const ids = channels.map((each) => each.id);
          const sent = discord.requests
            .slice(firstRequest)
            .filter(({ method, path }) => method !== "GET" && ids.some((each) => path.includes(each)))
            .map(({ body }) => JSON.stringify(body) ?? "");
          const now = channels.flatMap((each) =>
            each
              .messages()
              .filter(({ author }) => author.id === bot.id)
              .map(textOf),
          );
          return [...sent, ...now, ...channels.map(({ name }) => name)].join("\n");
        },
      };
    },
    close: () => discord.stop(),
  };
}
