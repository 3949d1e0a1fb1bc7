/**
 * A reply whose process dies at any of its notes in the ledger, just before or just after the note is stored. Another process
 * then writes the reply again, long after. People see each answer and each card once.
 */
import { expect } from "vitest";
import type { ApprovalCard } from "../../src/ports/card.ts";
import type { InboundMessage, ReplyTarget } from "../../src/ports/message.ts";
import type { Platform, Posts, Reply } from "../../src/ports/platform.ts";
import { createCard, createPosts, targetOf } from "./platform-world.ts";

export interface CrashWorld {
  /** Says something to the agent where nothing was said before. */
  mention(): Promise<InboundMessage>;
  /** A process of its own; not connected. */
  start(): Promise<Platform>;
  /** Called between the first words and the rest. Whoever has this may leave the first words behind. */
  betweenWords?(target: ReplyTarget): void;
  /** So long that the service has forgotten what it was asked to do only once. */
  waitLong(): void;
  /** Readable texts of all the agent's messages for this target, wherever they are. */
  shown(target: ReplyTarget): string[];
  buttons(target: ReplyTarget): string[];
  /** Names of the files that the agent has shown. */
  files(target: ReplyTarget): string[];
  until(check: () => boolean): Promise<unknown>;
}

const firstWords = "These are the first words";
/** Any file that exists. */
const file = { name: "data.csv", path: import.meta.filename, mimeType: "text/csv" };
const answer = "This is the whole answer.";
const outcome = "Ann denied this";
const maxInstants = 120;
/** A resumed reply has fewer notes left. */
const maxSecond = 13;
const isThorough = process.env.CHAOS_SEEDS !== undefined;

/** Returns at how many points a process died. */
export async function answersOnceAtEveryCrash(world: CrashWorld): Promise<number> {
  return await diesEverywhere(world, async (reply, { target, isFirst }) => {
    if (isFirst) {
      await reply.write(firstWords);
      await world.until(() => world.shown(target).some((text) => text.includes(firstWords)));
      world.betweenWords?.(target);
    }
    await reply.finish(answer, [file]);
    expect(world.files(target)).toEqual([file.name]);
  });
}

export async function asksOnceAtEveryCrash(world: CrashWorld): Promise<number> {
  return await diesEverywhere(world, async (reply, { target, message }) => {
    const card = (changes = {}): ApprovalCard => createCard(message, changes);
    await reply.ask(card());
    await reply.settle(card({ state: "denied", outcome: `${outcome}.`, choices: [] }));
    await reply.finish(answer, []);
    expect(count(world.shown(target), outcome)).toBe(1);
    expect(world.buttons(target)).toEqual([]);
  });
}

type Work = (reply: Reply, step: Step) => Promise<void>;

interface Step {
  message: InboundMessage;
  target: ReplyTarget;
  isFirst: boolean;
}

async function diesEverywhere(world: CrashWorld, work: Work): Promise<number> {
  for (let diesAt = 0; diesAt < maxInstants; diesAt++) {
    if (await survives(world, work, [diesAt])) return diesAt;
    // Two deaths: the second one moves faster than the first.
    const seconds = isThorough ? Array.from({ length: maxSecond }, (_, index) => index) : [(diesAt * 3) % maxSecond];
    for (const second of seconds) await survives(world, work, [diesAt, second]);
  }
  throw new Error(`a reply has more than ${maxInstants / 2} notes`);
}

/** Returns true if the reply was complete before the first process was to die. */
async function survives(world: CrashWorld, work: Work, deaths: number[]): Promise<boolean> {
  const message = await world.mention();
  const target = targetOf(message);
  const kept = createPosts();
  const places: string[] = [];
  for (const [life, diesAt] of [...deaths, Number.POSITIVE_INFINITY].entries()) {
    const process = await world.start();
    const mortal = mortalPosts(kept, diesAt);
    const step = { message, target, isFirst: life === 0 };
    const end = await Promise.race([work(process.reply(target, mortal.posts), step), mortal.died]);
    await process.close();
    if (end === undefined && life === 0) return true;
    places.push(end ?? "lived");
    world.waitLong();
  }
  const shown = world.shown(target);
  expect(count(shown, answer), `${places}:\n${shown.join("\n")}`).toBe(1);
  if (world.betweenWords === undefined) expect(count(shown, firstWords), String(places)).toBe(0);
  return false;
}

const count = (texts: string[], part: string) => texts.filter((text) => text.includes(part)).length;

/** Dies before the note `diesAt / 2` is stored, or if that is not a whole number, just after. Then nothing is stored. */
function mortalPosts(kept: Posts, diesAt: number): { posts: Posts; died: Promise<string> } {
  const death = Promise.withResolvers<string>();
  let instants = 0;
  async function live(when: string): Promise<void> {
    if (instants++ < diesAt) return;
    death.resolve(`died ${when}`);
    await new Promise(() => {});
  }
  const posts: Posts = {
    all: kept.all,
    async keep(key, id) {
      await live(`before ${key}`);
      await kept.keep(key, id);
      await live(`after ${key}`);
    },
  };
  return { posts, died: death.promise };
}
