/**
 * Named points at which a test ends the process, as by `kill -9`. Wrappers around the ports trigger them; only tests load this
 * module, through REMORA_PORT_WRAPPERS.
 *
 * REMORA_KILL_AT is `<point>` or `<point>:<count>`: the process dies when it passes the point for the count-th time (default 1).
 */
import type { CardRecord, NotifiedPerson } from "../../src/ports/approval.ts";
import type { PortWrappers } from "../../src/ports/port-wrappers.ts";
import type { ModelEvent } from "../../src/ports/provider.ts";
import { die } from "./die.ts";

/** In the order in which a turn with an approved call passes them. */
export const killPoints = [
  "before-accept",
  "accepted",
  "turn-written",
  "messages-taken",
  "context-built",
  "mid-stream",
  "call-parsed",
  "call-judged",
  "approval-written",
  "card-posted",
  "card-kept",
  "parked",
  "click-taken",
  "approval-consumed",
  "before-started",
  "started",
  "effect-done",
  "call-done",
  "before-reply",
  "reply-posted",
  "after-reply",
  "in-memory-write",
  "after-memory",
  "turn-ended",
  "message-answered",
] as const;

/** Passed only by turns that tell people about a card. */
const notifyKillPoints = ["copy-opened", "note-posted"] as const;

export type KillPoint = (typeof killPoints)[number] | (typeof notifyKillPoints)[number];

function createKillPoints(spec: string): PortWrappers {
  const [name = "", countText = "1"] = spec.split(":");
  const count = Number(countText);
  const point = [...killPoints, ...notifyKillPoints].find((known) => known === name);
  if (point === undefined || !Number.isInteger(count) || count < 1) {
    throw new TypeError(
      `REMORA_KILL_AT: "${spec}" is no point to die at: <point>:<count>, with one of ${killPoints.join(", ")}`,
    );
  }
  let passed = 0;

  function at(here: KillPoint): void {
    if (here === point && ++passed === count) die();
  }

  /** Passes the point after the last of these events, at most once. */
  async function after<T>(here: KillPoint, work: Promise<T>, isMeant: (result: T) => boolean = () => true): Promise<T> {
    const result = await work;
    if (isMeant(result)) at(here);
    return result;
  }

  const afterCreate: { [kind: string]: KillPoint } = {
    message: "accepted",
    turn: "turn-written",
    approval: "approval-written",
  };
  const afterMove: { [kindAndState: string]: KillPoint } = {
    "message taken": "messages-taken",
    "approval approved": "click-taken",
    "approval consumed": "approval-consumed",
    "call started": "started",
    "call done": "call-done",
    "turn parked": "parked",
    "turn done": "turn-ended",
    "message answered": "message-answered",
  };

  return {
    ledger: (ledger) => ({
      ...ledger,
      async create(kind, id, entry) {
        if (kind === "message") at("before-accept");
        const isNew = await ledger.create(kind, id, entry);
        const here = afterCreate[kind];
        if (isNew && here !== undefined) at(here);
        if (isNew && kind === "post" && /^[^:]+:card:/.test(id)) at("card-kept");
        return isNew;
      },
      async transition(kind, id, from, to, change) {
        if (kind === "call" && to === "started") at("before-started");
        const moved = await ledger.transition(kind, id, from, to, change);
        const notify = kind === "card" ? (moved?.body as CardRecord | undefined)?.notify : undefined;
        if (notify?.people.some(isCopyOpened)) at("copy-opened");
        const here = afterMove[`${kind} ${to}`];
        if (moved !== undefined && here !== undefined) at(here);
        return moved;
      },
    }),
    context: (context) => ({
      ...context,
      build: (request) => after("context-built", context.build(request)),
    }),
    provider: (provider) => ({
      ...provider,
      async *stream(request, signal): AsyncGenerator<ModelEvent> {
        let hasText = false;
        for await (const event of provider.stream(request, signal)) {
          yield event;
          // What arrives together is one piece, so a second one may never come.
          if (event.type === "text-delta" && !hasText) at("mid-stream");
          hasText ||= event.type === "text-delta";
        }
      },
    }),
    readModel: (readModel) => (events, tools, usedIds, onText) =>
      after(
        "call-parsed",
        readModel(events, tools, usedIds, onText),
        (answer) => answer.type === "answer" && answer.calls.length > 0,
      ),
    gate: (gate) => ({
      ...gate,
      classify(...call) {
        const verdict = gate.classify(...call);
        at("call-judged");
        return verdict;
      },
    }),
    toolbox: (toolbox) => ({
      ...toolbox,
      run: (call, scope, signal) => after("effect-done", toolbox.run(call, scope, signal)),
    }),
    delivery: (delivery) => ({
      ...delivery,
      async finish(...all) {
        at("before-reply");
        await after("after-reply", delivery.finish(...all));
      },
    }),
    posts: (posts) => ({
      ...posts,
      async keep(key, messageId) {
        // Nothing is posted yet.
        if (key.startsWith("try:")) return await posts.keep(key, messageId);
        if (key.startsWith("card:")) at("card-posted");
        else at(key.startsWith("note:") ? "note-posted" : "reply-posted");
        await posts.keep(key, messageId);
      },
    }),
    memory: (memory) => ({
      ...memory,
      async saveEpisode(episode) {
        const saving = memory.saveEpisode(episode);
        // Reading and rewriting the file takes more than one turn of the event loop.
        setImmediate(() => at("in-memory-write"));
        await after("after-memory", saving);
      },
    }),
  };
}

function isCopyOpened({ copy }: NotifiedPerson): boolean {
  return copy?.conversationId !== undefined;
}

const { REMORA_KILL_AT } = process.env;
/** Undefined in a test that only imports the names. */
export const wrappers = REMORA_KILL_AT === undefined ? undefined : createKillPoints(REMORA_KILL_AT);
