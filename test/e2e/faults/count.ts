/** Counts what became of every message, once nothing is open any more. */
import type { World } from "../chaos/world.ts";
import type { ChatService } from "./chat-service.ts";
import { answeredIds } from "./model.ts";
import { liveButton, type Said } from "./people.ts";

export interface Counts {
  messages: number;
  /** Neither answered nor visibly failed. */
  lost: number;
  failed: number;
  /** Answers, cards, questions and files that are there twice, and effects that happened twice. */
  doubled: number;
  misordered: number;
  /** Cards and questions that were shown. */
  cards: number;
  /** Of these and of answers: live buttons, or not the last state. */
  left: number;
  notes: string[];
}

/** How a settled card begins or goes on: approved, cancelled, stopped, or nobody answered in time. */
const settledWords = /approved|stopped|expired|Cancelled|Nobody answered in time/;

export async function count(service: ChatService, world: World, said: readonly Said[]): Promise<Counts> {
  const shown = service.shown();
  const notes: string[] = [];
  const answers = new Map<string, number[]>();
  for (const [position, { text }] of shown.entries())
    for (const id of answeredIds(text)) answers.set(id, [...(answers.get(id) ?? []), position]);
  const turns = await world.ledger.list("turn", {});
  const failedIds = new Set(
    turns
      .filter(({ state }) => state === "failed" || state === "stopped")
      .flatMap(({ body }) => body.messages.flatMap(({ text }) => [...text.matchAll(/\bm\d+x\b/g)].map(([id]) => id))),
  );
  const missing = said.filter(({ id }) => !answers.has(id));
  const warnings = shown.filter(({ text }) => text.includes("⚠️")).length;
  const failed = missing.filter(({ id }) => failedIds.has(id)).slice(0, warnings);
  const lost = missing.filter((each) => !failed.includes(each));
  for (const { id, tool, place } of lost) notes.push(`lost: ${id} ${tool} in ${place.name}`);
  for (const { id, tool } of failed) notes.push(`failed: ${id} ${tool}`);
  const twice = (what: string, extra: number) => {
    if (extra > 0) notes.push(`doubled: ${what}, ${extra} too many`);
    return Math.max(0, extra);
  };
  let doubled = 0;
  for (const { id, tool } of said) {
    doubled += twice(`answer of ${id} (${tool})`, (answers.get(id)?.length ?? 1) - 1);
    const names = new RegExp(`\\b${id}\\b`);
    const others = shown.filter(({ text }) => names.test(text) && answeredIds(text).length === 0);
    const questions = others.filter(({ text }) => text.includes(`Really ${id}`));
    doubled += twice(`question of ${id}`, questions.length - 1);
    doubled += twice(`words above ${id}`, others.filter(({ text }) => text.includes("Working on")).length - 1);
    doubled += twice(`file of ${id}`, shown.filter(({ files }) => files.includes(`${id}.txt`)).length - 1);
    // The file's tool works on a draft, so it runs again.
    if (tool !== "effect_again" && tool !== "effect_file")
      doubled += twice(`effect of ${id} (${tool})`, world.effects.count(id) - 1);
  }
  const approvals = await world.ledger.list("approval", {});
  const cardsAsked = new Set(approvals.map(({ body }) => body.cardId)).size;
  // A settled card no longer names its task.
  const cards = shown.filter(({ text }) => text.includes("effect_ask") && answeredIds(text).length === 0);
  doubled += twice("cards", cards.length - cardsAsked);
  const isLive = (buttons: string[]) => buttons.some((label) => liveButton.test(label));
  const isUnsettled = (text: string) => cards.some((card) => card.text === text) && !settledWords.test(text);
  const left = shown.filter(({ text, buttons, isOpen }) => isLive(buttons) || isOpen || isUnsettled(text));
  const idsIn = (text: string) => [...text.matchAll(/\bm\d+x\b/g)].map(([id]) => id);
  for (const { id: messageId, text, buttons, isOpen } of left) {
    const [about = ""] = idsIn(text);
    const turn = turns.find(({ body }) => body.messages.some((message) => idsIn(message.text).includes(about)));
    const posts = await world.ledger.list("post", { group: turn?.id ?? "" });
    const kept = posts.map(({ id, body }) => `${id.slice(id.indexOf(":") + 1)}=${body.messageId}`).join(" ");
    const what = isOpen ? "open stream" : buttons.join(", ");
    notes.push(`left: ${what} on ${messageId} ${text.slice(0, 200)}, turn ${turn?.state}, posts ${kept}`);
  }
  if (notes.length > 0) notes.push(...shown.map(({ id, text }) => `shown: ${id} ${text.slice(0, 150)}`));
  return {
    ...{ messages: said.length, lost: lost.length, failed: failed.length, doubled },
    misordered: misordered(said, answers, notes),
    cards: cardsAsked + said.filter(({ tool }) => tool === "effect_question").length,
    ...{ left: left.length, notes },
  };
}

/** A turn that waits for approval lets later messages pass, so its answer has no order. */
function misordered(said: readonly Said[], answers: Map<string, number[]>, notes: string[]): number {
  let wrong = 0;
  const asking = said.filter(({ tool }) => tool === "effect_ask");
  const parked = new Set(asking.flatMap(({ id }) => answers.get(id) ?? []));
  for (const [place, all] of Map.groupBy(said, (each) => each.place)) {
    if (!place.isOrdered) continue;
    let newest = -1;
    for (const { id, tool } of all) {
      const [at] = answers.get(id) ?? [];
      if (at === undefined || parked.has(at)) continue;
      if (at < newest) {
        wrong += 1;
        notes.push(`misordered: ${id} (${tool}) in ${place.name}`);
      }
      newest = Math.max(newest, at);
    }
  }
  return wrong;
}
