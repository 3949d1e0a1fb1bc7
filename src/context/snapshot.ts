/**
 * Writes snapshots: one Markdown file per model call with exactly what was sent, and why.
 *
 * `brain/prefrontal/.debug/<time>-<turn>-<step>.md` contains the model, the budget and every candidate's score, then
 * system, messages and tools word for word. Secrets are redacted; images appear as size and hash, and results that may
 * not be stored as a note. The newest 50 files are kept.
 *
 * A call never waits for its snapshot, so the input must not change until the snapshot is written.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../lib/errors.ts";
import type { Redact } from "../lib/redact.ts";
import { notKeptText } from "../ports/ephemeral.ts";
import type { ModelMessage, ModelRequest, UserPart } from "../ports/provider.ts";
import { requesterOf, type TurnRecord } from "../ports/turn.ts";
import type { Allocation, ContextItem } from "./budget.ts";

export const snapshotFolder = "brain/prefrontal/.debug";
const maxSnapshots = 50;
/** Delays a write, so that it does not hold up the handling of the answer. */
const writeAfterMs = 100;
/** After a write of more snapshots than this, the next one waits for `burstIntervalMs`: most would soon be pruned anyway. */
const maxPerWrite = 5;
const burstIntervalMs = 5_000;

interface SnapshotInput {
  turn: TurnRecord;
  step: number;
  at: number;
  model: string;
  budgetTokens: number;
  allocation: Allocation<ContextItem>;
  request: ModelRequest;
  notes: readonly string[];
}

export interface Snapshots {
  /** Returns the path relative to the workspace. The file is written shortly afterwards. */
  write(input: SnapshotInput): string;
  flush(): void;
}

export function createSnapshots(
  workspace: string,
  redact: Redact,
  onFailure: (turnId: string, thrown: unknown) => void,
): Snapshots {
  const folder = join(workspace, snapshotFolder);
  const waiting: { name: string; head: string; input: SnapshotInput }[] = [];
  let timer: NodeJS.Timeout | undefined;
  let notBefore = Number.NEGATIVE_INFINITY;

  function attempt({ turn }: SnapshotInput, work: () => void): boolean {
    try {
      work();
      return true;
    } catch (thrown) {
      onFailure(turn.id, thrown);
      return false;
    }
  }

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.length > maxPerWrite) notBefore = performance.now() + burstIntervalMs;
    const written = waiting
      .splice(0)
      .filter(({ name, head, input }) =>
        attempt(input, () => writeWhole(folder, name, redact(renderSnapshot(head, input)))),
      );
    const last = written.at(-1);
    if (last !== undefined) attempt(last.input, () => prune(folder));
  }

  return {
    write(input) {
      const name = snapshotName(input.at, input.turn.id, input.step);
      timer ??= setTimeout(flush, Math.max(writeAfterMs, notBefore - performance.now()));
      // Render the turn's current state now, because the turn continues.
      waiting.push({ name, head: headText(input), input });
      // Older ones would be removed as soon as they are written.
      if (waiting.length > maxSnapshots) waiting.shift();
      return `${snapshotFolder}/${name}`;
    },
    flush,
  };
}

/** Does not call `fsync`: a power failure may lose a snapshot, but never leaves a partial one. */
function writeWhole(folder: string, name: string, text: string): void {
  const temporary = join(folder, `.${name}.${process.pid}`);
  try {
    writeFileSync(temporary, text, { mode: 0o600 });
  } catch (thrown) {
    if (codeOf(thrown) !== "ENOENT") throw cleanedUp(temporary, thrown);
    mkdirSync(folder, { recursive: true });
    writeFileSync(temporary, text, { mode: 0o600 });
  }
  try {
    renameSync(temporary, join(folder, name));
  } catch (thrown) {
    throw cleanedUp(temporary, thrown);
  }
}

function cleanedUp(temporary: string, thrown: unknown): unknown {
  rmSync(temporary, { force: true });
  return thrown;
}

/** Returns a name that sorts by time. Its parts are separated by `-` and contain no other `-`. */
export function snapshotName(at: number, turnId: string, step: number): string {
  const time = new Date(at).toISOString().replace(/[-:.]/g, "");
  return `${time}-${encodeURIComponent(turnId).replaceAll("-", "%2D")}-${step}.md`;
}

function prune(folder: string): void {
  const names = readdirSync(folder)
    .filter((name) => name.endsWith(".md"))
    .sort();
  for (const name of names.slice(0, -maxSnapshots)) rmSync(join(folder, name), { force: true });
}

function renderSnapshot(head: string, input: SnapshotInput): string {
  const { request } = input;
  return [
    head,
    "## Budget",
    budgetText(input),
    "## Candidates",
    candidatesText(input.allocation),
    "## System",
    ...request.system.map(
      (part, index) => `### Part ${index + 1}${part.isCacheable ? " (cacheable)" : ""}\n\n${block(part.text)}`,
    ),
    "## Messages",
    ...request.messages.map((message, index) => `### ${index + 1}. ${message.role}\n\n${messageText(message)}`),
    `## Tools (${request.tools.length})`,
    ...request.tools.map(
      (tool) => `### ${tool.name}\n\n${tool.description}\n\n${block(JSON.stringify(tool.parameters))}`,
    ),
  ].join("\n\n");
}

function headText({ turn, step, at, model, request, notes }: SnapshotInput): string {
  const author = requesterOf(turn);
  const lines = [
    `time: ${new Date(at).toISOString()}`,
    `conversation: ${turn.conversationId} (${turn.scope})`,
    `person: ${cell(author.name)} (${turn.target.platform}:${author.id})`,
    `model: ${request.preferredModel ?? model}${request.preferredModel === undefined ? "" : " (chosen for this conversation)"}`,
    ...(request.endUser === undefined ? [] : [`sent as the person's id: ${request.endUser}`]),
    `output: at most ${request.maxOutputTokens} tokens`,
    ...notes.map((note) => `note: ${cell(note)}`),
  ];
  return `# Turn ${turn.id}, step ${step}\n\n${lines.map((line) => `- ${line}`).join("\n")}`;
}

function budgetText({ allocation, budgetTokens }: SnapshotInput): string {
  const rows = allocation.table.map(({ section, share, limit, used, kept, leftOut }) => [
    section,
    share === 0 ? "–" : `${share} %`,
    limit,
    used,
    kept,
    leftOut,
  ]);
  const all = ["**all**", "100 %", budgetTokens, allocation.usedTokens, "", ""];
  return table(["section", "share", "limit", "used", "kept", "left out"], [...rows, all]);
}

function candidatesText(allocation: Allocation<ContextItem>): string {
  const rows = allocation.decisions.map(({ candidate, isKept, reason }) => [
    candidate.section,
    candidate.name,
    candidate.score.toFixed(3),
    candidate.tokens,
    isKept ? "in" : "out",
    reason,
  ]);
  return table(["section", "candidate", "score", "tokens", "", "why"], rows);
}

function messageText(message: ModelMessage): string {
  switch (message.role) {
    case "user":
      return message.content.map(partText).join("\n\n");
    case "assistant": {
      const calls = message.toolCalls.map((call) => `call ${call.id} \`${call.name}\`\n\n${block(call.inputJson)}`);
      const { carry } = message;
      const carried =
        carry === undefined
          ? []
          : [`with ${JSON.stringify(carry.data).length} characters that ${carry.model} expects back`];
      return [message.text === "" ? "(no text)" : block(message.text), ...calls, ...carried].join("\n\n");
    }
    case "tool":
      return `answer to ${message.callId} \`${message.name}\`${message.isError ? " (error)" : ""}\n\n${[block(message.isEphemeral ? notKeptText : message.text), ...(message.images ?? []).map(imageText)].join("\n\n")}`;
    default:
      return message satisfies never;
  }
}

function partText(part: UserPart): string {
  return part.type === "text" ? block(part.text) : imageText(part);
}

function imageText({ mimeType, base64 }: { mimeType: string; base64: string }): string {
  const hash = createHash("sha256").update(base64).digest("hex").slice(0, 16);
  return `image ${mimeType}, ${base64.length} base64 characters, sha256 ${hash}`;
}

/** Quotes text unchanged, in a fence that is longer than any fence in the text. */
function block(text: string): string {
  const longest = (text.match(/~{3,}/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2);
  const mark = "~".repeat(longest + 1);
  return `${mark}\n${text}\n${mark}`;
}

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]) => `| ${cells.map((value) => cell(String(value))).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

function cell(text: string): string {
  return text.replace(/[\r\n|]+/g, " ");
}
