/**
 * Gives a caller of one of Slack's methods an error, and says what must still be true: nothing is lost, nobody reads a name of
 * Slack's, nothing is tried for ever.
 */
import { expect } from "vitest";
import type { InboundMessage } from "../../../src/ports/message.ts";
import { type DocumentedMethod, errorsOf } from "../../doubles/slack/method-errors.ts";
import { readableText, readableView } from "../../doubles/slack/see.ts";
import type { Person } from "../../doubles/slack/state.ts";
import { createTestAgent, type TestAgent } from "./agent.ts";
import { createSlackWorld, type SlackWorld, type WorldOptions } from "./world.ts";

export interface RefusedCaller {
  method: DocumentedMethod | "upload" | "response_url";
  /** Calls `refuse` right before the call. */
  run(refuse: () => void): Promise<unknown>;
  /** What people must be able to read afterwards, if it did not reject. */
  says?: string | RegExp;
  /** What must come true afterwards, if it did not reject. */
  holds?(): unknown;
  /** The model reads what it rejects with, so this must have no name of Slack's either. */
  isTool?: true;
  /** Codes with which it may reject although people wait for `says`. Whoever called it then tells them. */
  mayReject?: RegExp;
  /** Of so many parts, a plain run takes one. More for what waits. */
  shares?: number;
}

export interface Refusing {
  readonly world: SlackWorld;
  readonly agent: TestAgent;
  /** The first one to the agent. */
  readonly message: InboundMessage;
  /** Of the running case. */
  readonly turn: number;
  /** A member of #general whom nothing knows yet. */
  somebody(): Person;
  check(caller: RefusedCaller, error: string): Promise<void>;
  close(): Promise<void>;
}

/** No method has this one. */
export const unknownError = "an_error_of_next_year";
const maxCalls = 12;
export const withinMs = 10_000;

export const after = (work: () => Promise<unknown>) => async (refuse: () => void) => {
  refuse();
  await work();
};

/** What the method documents. Slack documents none for addresses, which are no methods. */
export function refusalsOf(method: RefusedCaller["method"]): string[] {
  if (method === "upload") return ["invalid_upload"];
  return method === "response_url" ? ["expired_url", "used_url", "invalid_blocks", "no_text"] : errorsOf(method);
}

export async function createRefusing(options?: WorldOptions): Promise<Refusing> {
  const world = await createSlackWorld(options);
  const { slack } = world;
  slack.limits.isEnforced = false;
  const agent = createTestAgent();
  await world.platform.connect(agent.handlers, new AbortController().signal);
  await slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora hello" }).acknowledged();
  const message = agent.kept.find(({ isAddressed }) => isAddressed) as InboundMessage;
  let turn = 0;

  const toldSince = (count: number) =>
    slack.state.messages
      .slice(count)
      .filter(({ user }) => user === slack.state.app.botUserId || user === "USLACKBOT")
      .map(readableText);
  const views = () => [...slack.state.views.values()].map(({ view }) => readableView(view));

  function refuse(method: RefusedCaller["method"], error: string): void {
    if (method === "upload") slack.failNext(method, { type: "http", status: 500, body: error });
    else if (method === "response_url")
      slack.failNext(method, { type: "http", status: 200, body: JSON.stringify({ ok: false, error }) });
    else slack.failNext(method, { type: "error", error });
  }

  return {
    ...{ world, agent, message },
    get turn() {
      return turn;
    },
    somebody() {
      const person = slack.workspace.addPerson({ name: `New ${turn}` });
      slack.general.members.add(person.id);
      return person;
    },
    async check({ method, run, says, holds, isTool, mayReject = /^never$/ }, error) {
      turn += 1;
      const [calls, before] = [slack.callsOf(method).length, slack.state.messages.length];
      let wasGiven = false;
      const rejected = await run(() => {
        wasGiven = true;
        refuse(method, error);
      }).then(
        () => undefined,
        (thrown: unknown) => thrown as { code: string; plain: string; message: string },
      );
      expect(wasGiven).toBe(true);
      const read = () => [...toldSince(before), ...views()].join("\n");
      if (rejected === undefined) {
        if (holds !== undefined) await slack.until(() => holds(), withinMs);
        if (says !== undefined) await expect.poll(read, { timeout: withinMs, interval: 10 }).toMatch(says);
      } else if (says !== undefined) expect(rejected.code).toMatch(mayReject);
      if (method !== "upload" && method !== "response_url")
        await slack.until(
          () =>
            slack
              .callsOf(method)
              .slice(calls)
              .some(({ answer }) => answer?.error === error),
          withinMs,
        );
      expect([read(), rejected?.plain ?? "", isTool ? (rejected?.message ?? "") : ""].join("\n")).not.toContain(error);
      expect(slack.callsOf(method).length - calls).toBeLessThanOrEqual(maxCalls);
      slack.state.views.clear();
    },
    close: () => world.close(),
  };
}
