/**
 * Questions of tools: asked with buttons, answered once by the person the tool works for.
 *
 *   ask      the record, then the card; waits for the click, in whatever process it comes
 *   answer   the first click of the requester counts; everybody else is told why theirs does not
 *
 * The tool waits inside its own time-out. When it stops waiting (time, stop, shutdown) the question is withdrawn, and its
 * card says so: a click on it changes nothing any more.
 */
import { randomBytes } from "node:crypto";
import { messageOf, RemoraError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { asPlain } from "../lib/text/sanitize.ts";
import type { Bus } from "../ports/cluster.ts";
import type { Ledger, LedgerEntry } from "../ports/ledger.ts";
import type { QuestionCard, QuestionRecord, QuestionRequest, Questions } from "../ports/question.ts";

export interface QuestionsOptions {
  ledger: Ledger;
  bus: Bus;
  /** Posts or rewrites the card. */
  show(card: QuestionCard): Promise<void>;
  redact(text: string): string;
  log: Log;
}

/** The bus may lose a word, so the ledger is asked as well. */
const lookEveryMs = 1_000;
/** After that a card that can't be rewritten, as where its channel is gone, is left as it is. */
const givenUpAfterMs = 86_400_000;
const longestQuestion = 1_000;
const longestOption = 75;
const mostOptions = 5;

export function createQuestions({ ledger, bus, show, redact, log }: QuestionsOptions): Questions {
  function cardOf({ id, state, body }: LedgerEntry<"question">): QuestionCard {
    const { target, tool, question, options, requester } = body;
    const outcome =
      state === "open"
        ? {}
        : body.picked === undefined
          ? { outcome: "Closed without an answer" }
          : { outcome: `${options[body.picked] ?? ""} — ${body.pickedBy?.name ?? requester.name}` };
    return { id, target, tool, question, options, requesterName: requester.name, ...outcome };
  }

  /** Resolves when somebody has answered, or with undefined when the signal aborts first. */
  function answered(id: string, signal: AbortSignal): Promise<LedgerEntry<"question"> | undefined> {
    return new Promise((resolve, reject) => {
      const look = () => {
        ledger.get("question", id).then(
          (entry) => {
            if (entry?.body.picked !== undefined) end(() => resolve(entry));
          },
          (thrown: unknown) => end(() => reject(thrown)),
        );
      };
      const timer = setInterval(look, lookEveryMs);
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

  /** Its card says how it ended, and has no buttons any more; else a sweep tries again. */
  async function close(ended: LedgerEntry<"question">): Promise<void> {
    try {
      await show(cardOf(ended));
      await ledger.transition("question", ended.id, ["answered", "withdrawn"], "closed");
    } catch (thrown) {
      log.warn(
        { questionId: ended.id, error: messageOf(thrown) },
        "a question's card could not be rewritten; the next sweep tries again",
      );
    }
  }

  async function withdraw(id: string): Promise<void> {
    const withdrawn = await ledger.transition("question", id, ["open"], "withdrawn");
    if (withdrawn !== undefined) await close(withdrawn);
  }

  return {
    async sweep(now) {
      for (const ended of await ledger.list("question", { states: ["answered", "withdrawn"] })) {
        if (now - ended.updatedAt < givenUpAfterMs) await close(ended);
        else await ledger.transition("question", ended.id, ["answered", "withdrawn"], "closed");
      }
      for (const { id, body } of await ledger.list("question", { states: ["open"] })) {
        const turn = await ledger.get("turn", body.target.turnId);
        if (turn?.state !== "running" && turn?.state !== "parked") await withdraw(id);
      }
    },
    async ask(request, signal) {
      const body = checked(request, redact);
      const id = randomBytes(16).toString("base64url");
      await ledger.create("question", id, { state: "open", body, group: body.target.turnId });
      const entry = await ledger.get("question", id);
      if (entry === undefined) throw new TypeError(`question ${id} was not kept`);
      await show(cardOf(entry));
      const answer = await answered(id, signal);
      if (answer !== undefined) return body.options[answer.body.picked ?? 0] ?? "";
      await withdraw(id);
      throw signal.reason;
    },
    async answer({ questionId, option, platform, conversationId, by }) {
      const entry = await ledger.get("question", questionId);
      const isHere = entry?.body.target.platform === platform && entry.body.target.conversationId === conversationId;
      if (entry === undefined || !isHere) return { accepted: false, text: "This question is not open any more." };
      const { requester, options, tool } = entry.body;
      if (by.isBot || by.id !== requester.id)
        return { accepted: false, text: `${tool} asks ${requester.name}, who it works for. Only they can answer.` };
      if (options[option] === undefined) return { accepted: false, text: "There is no such answer." };
      const picked = await ledger.transition("question", questionId, ["open"], "answered", (stored) => ({
        ...stored,
        picked: option,
        pickedBy: by,
      }));
      if (picked === undefined)
        return { accepted: false, text: "This question has been answered already, or was withdrawn." };
      bus.publish({ type: "changed", kind: "question", id: questionId });
      await close(picked);
      return { accepted: true, text: `Noted: ${options[option]}` };
    },
  };
}

/** In a form that every platform can show whole. */
function checked(
  { target, requester, tool, question, options }: QuestionRequest,
  redact: (text: string) => string,
): QuestionRecord {
  const problem =
    options.length < 1 || options.length > mostOptions
      ? `needs 1 to ${mostOptions} options and was given ${options.length}`
      : question.trim() === ""
        ? "has no text"
        : question.length > longestQuestion
          ? `has ${question.length} characters, and at most ${longestQuestion} can be shown`
          : options.some((option) => option.trim() === "" || option.length > longestOption)
            ? `has an option that is empty or longer than ${longestOption} characters`
            : undefined;
  if (problem !== undefined)
    throw new RemoraError({ code: "question.invalid", place: `a question of ${tool}`, message: problem });
  return {
    target,
    requester,
    tool,
    question: asPlain(redact(question)),
    options: options.map((option) => asPlain(redact(option))),
  };
}
