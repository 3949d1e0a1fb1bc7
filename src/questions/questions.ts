/**
 * Plugins can ask questions with buttons, or for words and files. Only the requester can answer, once.
 *
 *   ask      writes the record, or finds it if the call runs again; posts the card; waits for a click in any process
 *   answer   accepts the requester's first click; other people learn why their click does not count
 *
 * When the wait ends (tool timeout, stop, shutdown), the question is withdrawn: its card says so, and clicks change
 * nothing.
 */
import { randomBytes } from "node:crypto";
import { type Backoff, pause, waitBeforeRetry } from "../lib/backoff.ts";
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { BarredBecause } from "../ports/access.ts";
import type { Bus } from "../ports/cluster.ts";
import type { Ledger, LedgerEntry } from "../ports/ledger.ts";
import type { ReplyTarget } from "../ports/message.ts";
import { isNoRoute, isPlatformAway } from "../ports/platform.ts";
import type { AnswerInWords, QuestionCard, QuestionRecord, QuestionRequest, Questions } from "../ports/question.ts";
import { answerProblem, validated } from "./checks.ts";

export interface QuestionsOptions {
  ledger: Ledger;
  bus: Bus;
  show(card: QuestionCard): Promise<void>;
  /** The direct messages with a person. Rejects if the service refuses them. */
  directTarget(target: ReplyTarget, userId: string): Promise<ReplyTarget>;
  redact(text: string): string;
  barredBecause: BarredBecause;
  log: Log;
}

/** The bus can lose messages, so the ledger is polled too. */
const pollIntervalMs = 1_000;
const waits: Backoff = [1_000, 2_000, 5_000, 10_000];
const longestWaitMs = 15_000;
/** After this time, gives up on a failing card update, because the channel may no longer exist. */
const maxCardRetryMs = 86_400_000;

export function createQuestions(dependencies: QuestionsOptions): Questions {
  const { ledger, bus, show, redact, barredBecause, log } = dependencies;
  function questionCard({ id, state, body }: LedgerEntry<"question">): QuestionCard {
    const { question, options, words, requester } = body;
    const isOpen = state === "open";
    const head = `The ${askerOf(body)} ${isOpen ? "asks" : "asked"} ${requester.name}:`;
    const form = words === undefined ? {} : { words };
    const note = noteOf(body, isOpen) + whyHere(body);
    return { id, target: targetOf(body), head, question, options, ...form, note, isOpen };
  }

  function answered(id: string, signal: AbortSignal): Promise<LedgerEntry<"question"> | undefined> {
    return new Promise((resolve, reject) => {
      const look = () => {
        ledger.get("question", id).then(
          (entry) => {
            if (entry !== undefined && isAnswered(entry.body)) end(() => resolve(entry));
          },
          (thrown: unknown) => end(() => reject(thrown)),
        );
      };
      const timer = setInterval(look, pollIntervalMs);
      const unlisten = bus.listen((message) => {
        if (message.type === "changed" && message.kind === "question" && message.id === id) look();
      });
      const giveUp = () => end(() => resolve(undefined));
      const end = (settle: () => void) => {
        clearInterval(timer);
        unlisten();
        signal.removeEventListener("abort", giveUp);
        settle();
      };
      if (signal.aborted) giveUp();
      else signal.addEventListener("abort", giveUp, { once: true });
      look();
    });
  }

  /** If updating the card fails, the next sweep retries. */
  async function close(ended: LedgerEntry<"question">): Promise<void> {
    try {
      await show(questionCard(ended));
      await ledger.transition("question", ended.id, ["answered", "withdrawn"], "closed");
    } catch (thrown) {
      log.warn(
        { questionId: ended.id, error: messageOf(thrown) },
        "could not update a question's card; retrying at the next sweep",
      );
    }
  }

  /** A call that runs again after a crash must not ask a second time. A question that was withdrawn is asked anew. */
  async function recorded(body: QuestionRecord): Promise<LedgerEntry<"question">> {
    const { jobId, number, target } = body;
    const ofTurn = await ledger.list("question", { group: target.turnId });
    const found = ofTurn.find(
      ({ state, body: earlier }) =>
        earlier.jobId === jobId && earlier.number === number && (state === "open" || isAnswered(earlier)),
    );
    if (found !== undefined) return found;
    const id = randomBytes(16).toString("base64url");
    await ledger.create("question", id, { state: "open", body, group: target.turnId });
    const entry = await ledger.get("question", id);
    if (entry === undefined) throw new TypeError(`question ${id} was not kept`);
    return entry;
  }

  /** In a direct message, if nobody would see it where it belongs. Undefined if it is there already. */
  async function elsewhere({ id, body }: LedgerEntry<"question">, why: string) {
    if (body.elsewhere !== undefined || body.requester.isBot) return undefined;
    const target = await dependencies.directTarget(body.target, body.requester.id);
    return await ledger.transition("question", id, ["open"], "open", (now) => ({ ...now, elsewhere: { target, why } }));
  }

  async function showOpen(asked: LedgerEntry<"question">, signal: AbortSignal): Promise<void> {
    let entry = asked;
    for (let failures = 0; !signal.aborted; ) {
      try {
        await show(questionCard(entry));
        break;
      } catch (thrown) {
        const moved = isNoRoute(thrown) ? await elsewhere(entry, thrown.plain) : undefined;
        if (moved !== undefined) {
          entry = moved;
          continue;
        }
        if (!isPlatformAway(thrown)) throw thrown;
        failures += 1;
        await pause(waitBeforeRetry(waits, failures) ?? longestWaitMs, signal);
      }
    }
    // Another process may have withdrawn it before its card could be found.
    const now = await ledger.get("question", entry.id);
    if (now !== undefined && now.state !== "open") await close(now);
  }

  async function isAwaited({ jobId, target }: QuestionRecord): Promise<boolean> {
    const turn = await ledger.get("turn", target.turnId);
    if (turn?.state !== "running" && turn?.state !== "parked") return false;
    const call = jobId === undefined ? undefined : await ledger.get("call", jobId);
    return call?.state !== "done" && call?.state !== "unknown";
  }

  async function giveUp(id: string): Promise<void> {
    log.error({ questionId: id }, "gave up updating a question's card, after a day");
    await ledger.transition("question", id, ["answered", "withdrawn"], "closed");
  }

  async function withdraw(id: string): Promise<void> {
    const withdrawn = await ledger.transition("question", id, ["open"], "withdrawn");
    if (withdrawn !== undefined) await close(withdrawn);
  }

  return {
    async sweep(now) {
      for (const ended of await ledger.list("question", { states: ["answered", "withdrawn"] })) {
        if (now - ended.updatedAt < maxCardRetryMs) await close(ended);
        else await giveUp(ended.id);
      }
      for (const { id, body } of await ledger.list("question", { states: ["open"] })) {
        if (!(await isAwaited(body))) await withdraw(id);
      }
    },
    async ask(request, signal) {
      const body = validated(request, redact);
      const entry = await recorded(body);
      try {
        await showOpen(entry, signal);
        const answer = await answered(entry.id, signal);
        if (answer !== undefined) return answerOf(request, answer);
      } catch (thrown) {
        await withdraw(entry.id).catch((again: unknown) =>
          log.warn({ questionId: entry.id, error: messageOf(again) }, "could not withdraw a question"),
        );
        throw thrown;
      }
      await withdraw(entry.id);
      throw signal.reason;
    },
    async answer({ questionId, option, said, platform, conversationId, by }) {
      const entry = await ledger.get("question", questionId);
      const at = entry && targetOf(entry.body);
      if (entry === undefined || at?.platform !== platform || at.conversationId !== conversationId)
        return { accepted: false, text: "This question is no longer open." };
      const { requester, options } = entry.body;
      if (by.isBot || by.id !== requester.id)
        return { accepted: false, text: `Only ${requester.name} can answer this.` };
      const turn = await ledger.get("turn", entry.body.target.turnId);
      const barred = turn && (await barredBecause(turn.body, by));
      if (barred !== undefined) return { accepted: false, text: barred };
      const problem = answerProblem(entry.body, option, said);
      if (problem !== undefined) return { accepted: false, text: problem };
      const picked = await ledger.transition("question", questionId, ["open"], "answered", (stored) => ({
        ...stored,
        ...(option === undefined ? {} : { picked: option }),
        ...(said === undefined ? {} : { said: { ...said, text: said.text.trim() } }),
        pickedBy: by,
      }));
      if (picked === undefined) return { accepted: false, text: "This question is already answered or was withdrawn." };
      bus.publish({ type: "changed", kind: "question", id: questionId });
      // The click does not wait for the card.
      void close(picked);
      const what = option === undefined ? "Your answer went" : `You chose “${options[option]}”, as an answer`;
      return { accepted: true, text: `${what} to the ${askerOf(entry.body)}. It approves nothing.` };
    },
  };
}

function isAnswered({ picked, said }: QuestionRecord): boolean {
  return picked !== undefined || said !== undefined;
}

/** An option as the plugin wrote it, so that it can compare. */
function answerOf({ answers }: QuestionRequest, { id, body: { picked, said } }: LedgerEntry<"question">) {
  if (said !== undefined) return { ...said, messageId: `question-${id}` };
  return (Array.isArray(answers) ? answers[picked ?? 0] : undefined) ?? "";
}

/** Not the words: others read the note. */
function saidWith({ text, attachments }: AnswerInWords): string {
  const files = attachments.length === 1 ? "a file" : `${attachments.length} files`;
  if (attachments.length === 0) return "in words";
  return text === "" ? `with ${files}` : `in words, with ${files}`;
}

function whyHere({ elsewhere }: QuestionRecord): string {
  return elsewhere === undefined ? "" : ` I can't write where you asked: ${elsewhere.why}. So I ask here.`;
}

function targetOf({ target, elsewhere }: QuestionRecord): ReplyTarget {
  return elsewhere?.target ?? target;
}

/** Names of skills and tools have letters, digits and hyphens or underscores alone. */
function askerOf({ skill, tool }: QuestionRecord): string {
  return skill === undefined ? `tool ${tool}` : `plugin ${skill}`;
}

function noteOf(body: QuestionRecord, isOpen: boolean): string {
  const { requester, options, picked, said, pickedBy } = body;
  const name = pickedBy?.name ?? requester.name;
  if (isOpen) return `Only ${requester.name} can answer. An answer approves nothing.`;
  if (said !== undefined) return `${name} answered the ${askerOf(body)} ${saidWith(said)}.`;
  if (picked === undefined) return "Closed without an answer.";
  return `${name} chose “${options[picked] ?? ""}”, as an answer to the ${askerOf(body)}.`;
}
