/**
 * `/remora timezone` sets the time zone in which a person's words about times are read, where the service does not know it, or
 * knows another one. It is the person's own, in all conversations of the service.
 */

import { asCode } from "../lib/text/sanitize.ts";
import { knownTimeZone, machineTimeZone } from "../lib/time-zones.ts";
import type { CommandHandler } from "../ports/command.ts";
import type { Author } from "../ports/message.ts";
import type { Store } from "../ports/store.ts";

export interface TimeZones {
  /** The person, with the zone that they have set. */
  withZone(platform: string, person: Author): Promise<Author>;
  forget(platform: string, personId: string): Promise<void>;
  command: CommandHandler;
}

const maxShownCharacters = 60;
const howToSet = "To set another one: `/remora timezone Europe/Berlin`";

export function createTimeZones(store: Store, now: () => number = Date.now): TimeZones {
  const keyOf = (platform: string, { id }: Pick<Author, "id">) => `time-zone:${platform}:${id}`;
  const chosen = async (platform: string, person: Author) => knownTimeZone(await store.get(keyOf(platform, person)));

  function inZone(timeZone: string): string {
    const time = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", timeZone }).format(now());
    return `${asCode(timeZone, maxShownCharacters)}, where it is ${time} now`;
  }

  async function overview(platform: string, by: Author): Promise<string> {
    const own = await chosen(platform, by);
    if (own !== undefined) return `You have set ${inZone(own)}. ${howToSet}. To undo that: \`/remora timezone auto\``;
    const known = by.timeZone;
    if (known !== undefined) return `I use the zone of your profile, ${inZone(known)}. ${howToSet}`;
    return `I don't know your time zone, so I use mine, ${inZone(machineTimeZone())}. ${howToSet}`;
  }

  return {
    async withZone(platform, person) {
      // What can't be read now must not keep a message from being stored.
      const timeZone = await chosen(platform, person).catch(() => undefined);
      return timeZone === undefined ? person : { ...person, timeZone };
    },
    forget: (platform, id) => store.delete(keyOf(platform, { id })),
    command: {
      usage: "timezone [ZONE | auto]",
      description: "shows or sets the time zone in which I read the times that you say",
      async run({ platform, by, rest }) {
        const asked = rest.trim();
        if (asked === "") return await overview(platform, by);
        if (asked.toLowerCase() === "auto") {
          await store.delete(keyOf(platform, by));
          return await overview(platform, by);
        }
        const timeZone = knownTimeZone(asked.replace(/\s+/g, "_"));
        if (timeZone === undefined)
          return `I don't know a time zone ${asCode(asked, maxShownCharacters)}. Name it by region and city, such as \`Europe/Berlin\` or \`America/New_York\`.`;
        await store.set(keyOf(platform, by), timeZone);
        return `From your next message on, I read times in ${inZone(timeZone)}. Schedules that you have made keep their zone.`;
      },
    },
  };
}
