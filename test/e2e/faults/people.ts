/** People who write one message after the other, and press the buttons that wait for them. */
import { setTimeout as wait } from "node:timers/promises";
import type { World } from "../chaos/world.ts";
import type { ChatService, Place } from "./chat-service.ts";
import { answeredIds, tools } from "./model.ts";

export interface Said {
  id: string;
  tool: (typeof tools)[number];
  place: Place;
}

export interface People {
  said: Said[];
  /** Write until the time is over: at most `open` unanswered messages in each place, and one per `everyMs`. */
  talk(options: { open: number; everyMs: number }, isOver: () => boolean): Promise<void>;
  /** New people write their first direct message, one after the other, at most `everyMs` apart. */
  comeAndWrite(everyMs: number, isOver: () => boolean): Promise<void>;
  /** Press buttons until the signal. */
  press(signal: AbortSignal): Promise<void>;
}

/** People click again after this time if nothing has happened. */
const pressAgainMs = 4_000;
const lookMs = 300;
/** Best first: a card with several calls has a button for all of them on Discord. */
const pressed = [/^Approve all/, /^Approve/, /^Answer 1$/];
export const liveButton = /^(?:Approve|Deny|Answer)\b/;

export function createPeople(service: ChatService, world: World): People {
  const said: Said[] = [];
  const pressedAt = new Map<string, number>();

  let seen = { ids: new Set<string>(), at: 0 };

  /** Everybody looks at once, so that looking does not slow the process that is tested. */
  function answered(): Set<string> {
    if (Date.now() - seen.at >= lookMs)
      seen = { ids: new Set(service.shown().flatMap(({ text }) => answeredIds(text))), at: Date.now() };
    return seen.ids;
  }

  async function pressOnce(): Promise<void> {
    const approvals = await world.ledger.list("approval", { states: ["open"] });
    const questions = await world.ledger.list("question", { states: ["open"] });
    const waiting = [...approvals, ...questions].map(({ body }) => JSON.stringify(body));
    if (waiting.length === 0) return;
    for (const { id, text, buttons } of service.shown()) {
      const label = pressed.flatMap((each) => buttons.find((button) => each.test(button)) ?? []).at(0);
      if (label === undefined || Date.now() - (pressedAt.get(id) ?? 0) < pressAgainMs) continue;
      // Only what is still open is pressed: a click would repair a card that shows an old state.
      const [, taskId] = /\b(m\d+x)\b/.exec(text) ?? [];
      if (taskId === undefined || !waiting.some((body) => body.includes(taskId))) continue;
      pressedAt.set(id, Date.now());
      try {
        service.press(id, label);
      } catch {
        // The card has just changed.
      }
    }
  }

  function say(place: Place, tool: Said["tool"]): string {
    const id = `m${said.length + 1}x`;
    said.push({ id, tool, place });
    place.say(`do ${tool} ${id}`);
    return id;
  }

  return {
    said,
    async talk({ open, everyMs }, isOver) {
      const one = async (place: Place, offset: number) => {
        for (let count = offset; !isOver(); ) {
          const done = answered();
          if (said.filter((each) => each.place === place && !done.has(each.id)).length < open) {
            say(place, tools[count % tools.length] ?? "plain");
            count += 1;
          }
          for (const until = Date.now() + everyMs; Date.now() < until && !isOver(); ) await wait(lookMs);
        }
      };
      await Promise.all(service.places.map((place, index) => one(place, index * 2)));
    },
    async comeAndWrite(everyMs, isOver) {
      while (!isOver()) {
        await wait(Math.random() * everyMs);
        say(service.newcomer(), "plain");
      }
    },
    async press(signal) {
      while (!signal.aborted) {
        await pressOnce().catch(() => {});
        await wait(lookMs * 2);
      }
    },
  };
}
