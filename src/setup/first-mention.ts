/** Starts the agent, waits for the first mention and its answer, and suggests that person as the approver. */
import { setTimeout as pause } from "node:timers/promises";
import { RemoraError } from "../lib/errors.ts";
import { oneLine } from "../lib/text/sanitize.ts";
import type { CheckResult } from "../ports/check.ts";
import type { Agent, AgentTurn } from "./agent-process.ts";
import { hasOwner, saveApprovers } from "./approvers-step.ts";
import { SetupCancelled } from "./ask.ts";
import { enterPort } from "./port-step.ts";
import type { Setup } from "./services.ts";

export interface FirstMention {
  start(): Promise<CheckResult<{ agent: Agent }>>;
  /** Undefined if only the page is there. */
  slackName: string | undefined;
  discordName: string | undefined;
  /** The first person who mentions Remora is suggested as the approver. */
  isSuggesting: boolean;
  signal: AbortSignal;
}

const pollMs = 400;
const readyTimeoutMs = 60_000;
const maxNameCharacters = 60;

/** Resolves with the running agent, or undefined if `signal` has ended the wait. The agent is stopped then. */
export async function waitForFirstMention(setup: Setup, options: FirstMention): Promise<Agent | undefined> {
  const { ask } = setup;
  const { signal } = options;
  let agent = await startUntilReady(setup, options);
  if (agent === undefined) return undefined;
  try {
    inviteMention(setup, agent, options);
    const turn = await firstAnswered(agent, options);
    if (turn === undefined) {
      await agent.stop();
      return undefined;
    }
    ask.done(answeredText(turn));
    const [platform = ""] = turn.conversationId.split(":");
    if (!options.isSuggesting || platform === "local") return agent;
    const name = oneLine(turn.who, maxNameCharacters);
    const also = hasOwner(setup) ? "" : `, and ${name} becomes the owner`;
    const question = `Make ${name} the approver? Then only ${name} can approve risky actions${also}.`;
    if (!(await ask.confirm({ message: question, flag: "--approver", initial: true }))) return agent;
    const id = `${platform}:${turn.whoId}`;
    await saveApprovers(setup, [`user:${id}`], [{ id, name }]);
    await agent.stop();
    agent = undefined;
    return signal.aborted ? undefined : await startUntilReady(setup, options);
  } catch (thrown) {
    await agent?.stop();
    throw thrown;
  }
}

/** On a terminal, a person can remove what prevents the start, and try again. */
async function startUntilReady(setup: Setup, options: FirstMention): Promise<Agent | undefined> {
  const { ask } = setup;
  for (;;) {
    const started = await ask.during("Starting Remora", () => start(options));
    if (options.signal.aborted) return undefined;
    if (started.ok) return started.agent;
    const { code, problem, fix } = started;
    if (!ask.isInteractive) throw new RemoraError({ code, place: "init", message: `${problem}\n${fix}` });
    if (await tookAnotherPort(setup, fix)) continue;
    ask.warn(alreadyRunning(fix) ?? `${problem}\n${fix}`);
    if (!(await ask.confirm({ message: "Start again?", flag: "--no-start", initial: true })))
      throw new SetupCancelled();
  }
}

/** The agent does not run if this fails, or if `signal` is aborted. */
async function start(options: FirstMention): Promise<CheckResult<{ agent: Agent }>> {
  const { signal } = options;
  const started = await options.start();
  if (!started.ok) return started;
  const { agent } = started;
  const deadline = Date.now() + readyTimeoutMs;
  for (;;) {
    const { isReady, detail } = await agent.readiness();
    if (isReady && !signal.aborted) return started;
    if (signal.aborted || Date.now() > deadline) {
      await agent.stop();
      return { ok: false, code: "setup.not-ready", problem: "Remora started, but is not ready.", fix: detail };
    }
    await Promise.race([pause(pollMs, undefined, { signal }).catch(() => {}), agent.ended]);
  }
}

function alreadyRunning(said: string): string | undefined {
  const other = /another Remora(?: \(process (\d+)\))? is already using it/.exec(said);
  if (other === null) return undefined;
  const which = other[1] === undefined ? "" : ` (process ${other[1]})`;
  return `Remora is already running here${which}, with the settings from before.\nPress Ctrl+C in its terminal. If it is a service: systemctl --user stop remora`;
}

async function tookAnotherPort(setup: Setup, said: string): Promise<boolean> {
  const taken = /port (\d+) is taken/.exec(said)?.[1];
  if (taken === undefined || setup.environment.REMORA_PORT) return false;
  await enterPort(setup, Number(taken));
  return true;
}

function inviteMention({ ask }: Setup, agent: Agent, { slackName, discordName }: FirstMention): void {
  const lines = [
    ...(slackName === undefined
      ? []
      : [`In Slack: /invite @${slackName} in a channel, then write: @${slackName} hello`]),
    ...(discordName === undefined ? [] : [`In Discord, write in a channel: @${discordName} hello`]),
  ];
  if (lines.length > 0) ask.say(["Mention me now.", ...lines].join("\n"));
  else if (agent.page !== undefined) ask.link("Open this page, and write in #general: @Remora hello", agent.page);
}

/** Turns of before this start count too if they ended after it: a mention may have waited for the start. */
async function firstAnswered(
  agent: Agent,
  { signal, slackName, discordName }: FirstMention,
): Promise<AgentTurn | undefined> {
  const since = Date.now();
  const isChat = slackName !== undefined || discordName !== undefined;
  let isOver = false;
  void agent.ended.then(() => {
    isOver = true;
  });
  while (!signal.aborted) {
    const turns = await agent.newestTurns();
    const found = turns.findLast(
      ({ endedAt, conversationId }) =>
        endedAt !== null && endedAt >= since && (!isChat || !conversationId.startsWith("local:")),
    );
    if (found !== undefined) return found;
    if (isOver)
      throw new RemoraError({
        code: "setup.ended",
        place: "init",
        message: `the agent has ended:\n${await agent.ended}`,
      });
    await Promise.race([pause(pollMs, undefined, { signal }).catch(() => {}), agent.ended]);
  }
  return undefined;
}

function answeredText({ who, state, failure, startedAt, endedAt }: AgentTurn): string {
  const name = oneLine(who, maxNameCharacters);
  if (state !== "done")
    return `${name} mentioned me, but the answer failed: ${failure ?? state}. The message in the chat says more.`;
  return `${name} mentioned me, and I answered in ${(((endedAt ?? startedAt) - startedAt) / 1000).toFixed(1)} s.`;
}
