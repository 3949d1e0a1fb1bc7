/**
 * Reads the ratings that people gave while nothing ran, because Discord does not send reactions again. Looks at the bot's
 * messages of the last day, in the places with the newest messages. A rating that is kept already stays as it is.
 */

import { type APIMessage, type APIUser, Routes } from "discord.js";
import { elapsedSince } from "../../../lib/elapsed.ts";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { PlatformHandlers } from "../../../ports/platform.ts";
import type { DiscordApi } from "../api/api.ts";
import type { OwnId } from "../api/own-id.ts";
import { authorOf } from "../api/people.ts";
import { maxHistoryPage } from "../limits.ts";
import { type Cursors, newerId, snowflakeAt } from "./cursors.ts";
import { type Thumb, thumbOf } from "./reactions.ts";

export interface MissedReactionsOptions {
  api: DiscordApi;
  cursors: Pick<Cursors, "places">;
  handlers: Pick<PlatformHandlers, "onFooter">;
  ownId: OwnId;
  log: Log;
  signal: AbortSignal;
}

export interface MissedReactions {
  /** Never rejects. Does nothing if it has just been done, for example for another shard. */
  read(): Promise<void>;
}

const maxAgeMs = 24 * 3_600_000;
const maxPlaces = 50;
/** Each needs one request for each thumb. */
const maxRated = 100;
/** https://discord.com/developers/docs/resources/message#get-reactions */
const maxPeople = 100;
const minRestMs = 60_000;

export function createMissedReactions(options: MissedReactionsOptions): MissedReactions {
  const { api, cursors, handlers, ownId, log, signal } = options;
  let readAt = Number.NEGATIVE_INFINITY;

  function recentPlaces(since: string): string[] {
    const recent = cursors.places().filter(({ read }) => newerId(read, since) === read);
    // Answers are in threads and direct messages, unless the channel itself gets them.
    const [channels, others] = [recent.filter(isChannel), recent.filter((place) => !isChannel(place))];
    return [...others.toReversed(), ...channels.toReversed()].slice(0, maxPlaces).map(({ id }) => id);
  }

  async function ratedIn(channelId: string, since: string): Promise<APIMessage[]> {
    const query = { limit: String(maxHistoryPage) };
    const page = await api.request<APIMessage[]>({
      ...{ method: "GET", route: Routes.channelMessages(channelId), query, signal },
      isBackground: true,
    });
    const own = await ownId();
    const isOurs = ({ id, author }: APIMessage) => author.id === own && newerId(id, since) === id;
    return page.filter((message) => isOurs(message) && thumbsOn(message).length > 0);
  }

  /** A person with both thumbs has not said which one counts. */
  async function ratingsOf(message: APIMessage): Promise<{ user: APIUser; thumb: Thumb }[]> {
    const found = new Map<string, { user: APIUser; thumbs: Set<Thumb> }>();
    for (const { emoji, thumb } of thumbsOn(message)) {
      const route = Routes.channelMessageReaction(message.channel_id, message.id, encodeURIComponent(emoji));
      const query = { limit: String(maxPeople) };
      for (const user of await api.request<APIUser[]>({ method: "GET", route, query, isBackground: true, signal })) {
        const person = found.get(user.id) ?? { user, thumbs: new Set() };
        found.set(user.id, { user, thumbs: person.thumbs.add(thumb) });
      }
    }
    return [...found.values()].flatMap(({ user, thumbs: [thumb, ...more] }) =>
      thumb === undefined || more.length > 0 || user.bot === true ? [] : [{ user, thumb }],
    );
  }

  async function keepRatings(message: APIMessage): Promise<void> {
    for (const { user, thumb } of await ratingsOf(message)) {
      const by = authorOf(user);
      const click = { platform: "discord", messageId: message.id, by, at: api.now() };
      await handlers.onFooter({ ...click, action: thumb, isMissed: true });
    }
  }

  return {
    async read() {
      const now = api.now();
      if (elapsedSince(readAt, now) < minRestMs) return;
      readAt = now;
      const since = snowflakeAt(now - maxAgeMs);
      let left = maxRated;
      for (const placeId of recentPlaces(since)) {
        if (left <= 0 || signal.aborted) return;
        try {
          const rated = (await ratedIn(placeId, since)).slice(0, left);
          left -= rated.length;
          for (const message of rated) await keepRatings(message);
        } catch (thrown) {
          if (!signal.aborted)
            log.debug({ channel: placeId, error: messageOf(thrown) }, "could not read ratings given while offline");
        }
      }
    },
  };
}

const isChannel = ({ type }: { type: string }) => type === "channel";

function thumbsOn({ reactions = [] }: APIMessage): { emoji: string; thumb: Thumb }[] {
  return reactions.flatMap(({ emoji, count, me }) => {
    const thumb = thumbOf(emoji);
    return thumb === undefined || count <= (me ? 1 : 0) ? [] : [{ emoji: emoji.name ?? "", thumb }];
  });
}
