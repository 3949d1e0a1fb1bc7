/**
 * Gives the bot calls to make, many per step and several conversations at once, and reads their outcome from its event log.
 * Nobody answers a card. Calls that will ask or be blocked are grouped, because a turn waits at the first call that asks, and
 * gets no more tools after three blocked ones.
 */
import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createGate } from "../../../src/gate/gate.ts";
import { gateRules } from "../../../src/skill-runtime/library/library.ts";
import { loadSkills } from "../../../src/skill-runtime/library/load.ts";
import type { ShellCall } from "./commands/generate.ts";
import { callIdOf, doneText } from "./oracle-model.ts";
import { filled, type Places } from "./places.ts";
import type { OracleWorld } from "./world.ts";

/** `lost`: neither run, asked nor blocked. */
export type CallFate = "ran" | "asked" | "blocked" | "lost";

export interface CallOutcome {
  call: ShellCall;
  fate: CallFate;
  /** The result for the model; absent while the call waits for an answer. */
  result: string | undefined;
}

export interface RunOptions {
  callsPerStep?: number;
  stepsPerTurn?: number;
  conversations?: number;
}

const batchMs = 240_000;
const maxLogDelayMs = 60_000;
const project = resolve(import.meta.dirname, "../../..");

export async function runCalls(
  world: OracleWorld,
  calls: readonly ShellCall[],
  { callsPerStep = 16, stepsPerTurn = 2, conversations = 4 }: RunOptions = {},
): Promise<CallOutcome[]> {
  const ready = calls.map((call) => fillCall(call, world.places));
  prediction ??= createPrediction();
  const classOf = await prediction;
  const groups = Object.groupBy(ready, (call) => classOf(call));
  const turns = [
    ...inTurns(groups.safe ?? [], callsPerStep, stepsPerTurn),
    ...inTurns(groups.confirm ?? [], callsPerStep, 1),
    ...inTurns(groups.block ?? [], callsPerStep, 1),
  ].map((steps) => ({ steps, batch: world.model.add(steps) }));
  const waiting = [...turns];
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await runTurn(world, next.batch);
  };
  await Promise.all(Array.from({ length: conversations }, work));
  const ids = turns.flatMap(({ steps, batch }) =>
    steps.flatMap((step, stepIndex) => step.map((_, index) => callIdOf(batch, stepIndex, index))),
  );
  const fates = await readFates(world.places.WORKSPACE, ids);
  return turns.flatMap(({ steps, batch }) =>
    steps.flatMap((step, stepIndex) =>
      step.map((call, index): CallOutcome => {
        const id = callIdOf(batch, stepIndex, index);
        return { call, fate: fates.get(id) ?? "lost", result: world.model.resultOf(id) };
      }),
    ),
  );
}

function fillCall({ command, network, background }: ShellCall, places: Places): ShellCall {
  return {
    command: filled(command, places),
    ...(network === undefined ? {} : { network: network.map((host) => filled(host, places)) }),
    ...(background === undefined ? {} : { background }),
  };
}

/** Reading the skills takes as long as several commands. */
let prediction: ReturnType<typeof createPrediction> | undefined;

/** The gate's verdicts only group the calls. Outcomes come from the event log. */
async function createPrediction(): Promise<(call: ShellCall) => "safe" | "confirm" | "block"> {
  const skills = await loadSkills([join(project, "skills")]);
  const gate = createGate({ rules: gateRules(skills), matching: "extended" });
  return (call) => {
    const verdict = gate.classify("shell_exec", { ...call }).class;
    return verdict === "safe" && call.network !== undefined ? "confirm" : verdict;
  };
}

function inTurns(calls: readonly ShellCall[], perStep: number, stepsPerTurn: number): ShellCall[][][] {
  const chunks = <T>(list: readonly T[], size: number) =>
    Array.from({ length: Math.ceil(list.length / size) }, (_, index) => list.slice(index * size, (index + 1) * size));
  return chunks(chunks(calls, perStep), stepsPerTurn);
}

/** Resolves when the turn has ended or waits for a person. */
async function runTurn({ person, channel, remora }: OracleWorld, batch: number): Promise<void> {
  const said = await person.say(`@remora batch ${batch}`, { channel });
  const isEnd = (text: string) => text.includes(doneText(batch)) || /Something went wrong|could not answer/.test(text);
  const ended = person.waitFor(
    (message) =>
      message.author.isBot &&
      message.thread === said.id &&
      (message.type === "card" ? message.state === "waiting" : message.state !== "streaming" && isEnd(message.text)),
  );
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`batch ${batch} did not end\n${remora.stderr()}`)), batchMs);
  const last = await Promise.race([ended, late]).finally(() => clearTimeout(timer));
  if (last.type === "message" && !last.text.includes(doneText(batch))) throw new Error(`batch ${batch}: ${last.text}`);
}

interface LoggedEvent {
  event: string;
  callId?: string;
}

const fateOf: Readonly<Record<string, CallFate>> = {
  "safety.confirm": "asked",
  "safety.blocked": "blocked",
  "tool.completed": "ran",
  "tool.failed": "ran",
};

/** The log is written in the background, so what happened last may not be there yet. A call that is lost never is. */
async function readFates(workspace: string, ids: readonly string[]): Promise<Map<string, CallFate>> {
  const end = Date.now() + maxLogDelayMs;
  for (;;) {
    const fates = await readLog(join(workspace, "brain/corpus"));
    if (ids.every((id) => fates.has(id)) || Date.now() > end) return fates;
    await pause(200);
  }
}

async function readLog(folder: string): Promise<Map<string, CallFate>> {
  const fates = new Map<string, CallFate>();
  for (const name of (await readdir(folder)).filter((each) => each.endsWith(".jsonl"))) {
    const lines = (await readFile(join(folder, name), "utf8")).split("\n");
    // After the last line break is a line that is still being written, or nothing.
    for (const line of lines.slice(0, -1)) {
      const { event = "", callId } = JSON.parse(line) as Partial<LoggedEvent>;
      const fate = fateOf[event];
      if (callId !== undefined && fate !== undefined) fates.set(callId, fate);
    }
  }
  return fates;
}
