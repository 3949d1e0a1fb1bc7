/**
 * Drafts for tests, with a real ledger, sandbox, undo journal and approval desk. The test plays people, platforms and the
 * model.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { mkdir, mkdtemp, realpath, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { createApprovals } from "../../../src/approvals/approvals.ts";
import type { ApprovalPolicy } from "../../../src/approvals/authority.ts";
import { readCommandFiles } from "../../../src/gate/shell/command-files.ts";
import { createEvents } from "../../../src/lib/event-bus.ts";
import { silentLog } from "../../../src/lib/log.ts";
import type { BoundFiles } from "../../../src/ports/bound-files.ts";
import type { ApprovalCard } from "../../../src/ports/card.ts";
import type { BusMessage } from "../../../src/ports/cluster.ts";
import type { CallFolder, DraftEnd, DraftRecord, FolderCall } from "../../../src/ports/draft.ts";
import type { Gate } from "../../../src/ports/gate.ts";
import type { AnswerChoice, Author, InboundMessage } from "../../../src/ports/message.ts";
import type { Sandbox } from "../../../src/ports/sandbox.ts";
import type { FolderUse, ToolAttempt, ToolSpec } from "../../../src/ports/tool.ts";
import type { TurnRecord } from "../../../src/ports/turn.ts";
import { makeDraftFolders } from "../../../src/sandbox/draft/draft-folders.ts";
import { createDrafts, type DraftsOptions } from "../../../src/sandbox/draft/drafts.ts";
import { createFileOrigins } from "../../../src/sandbox/draft/file-origins.ts";
import { createEgress } from "../../../src/sandbox/egress/egress.ts";
import { createSandbox } from "../../../src/sandbox/view/sandbox.ts";
import { createInMemoryBus, createInMemoryLeases } from "../../../src/storage/in-memory-cluster.ts";
import { createSqliteLedger } from "../../../src/storage/sqlite/ledger.ts";
import { createRecordedAudit } from "../../doubles/audit.ts";
import { inboundMessage, turnRecord } from "../../doubles/records.ts";
import { createRepeats } from "../../doubles/repeats.ts";
import { removeFolder } from "../remove-folder.ts";

export const ann: Author = { id: "ann", name: "Ann", isBot: false, roles: [] };
export const ben: Author = { id: "ben", name: "Ben", isBot: false, roles: [] };

export const own = "test:c1";
export const given = "test:given";
const never = new AbortController().signal;
const shellSpec: ToolSpec = {
  ...{
    name: "shell_exec",
    description: "",
    parameters: {},
    skill: "shell",
    shellParameters: ["command"],
    folder: "write",
  },
  ...{ isReadOnly: false, isIdempotent: false, readsUntrusted: false, isOutward: false, timeoutMs: 60_000 },
};

export type BenchOptions = Partial<
  Pick<DraftsOptions, "policy" | "isTainted" | "sandbox" | "unconfinedRefusal" | "redact" | "exposed">
> & { approvals?: ApprovalPolicy; isRepeatRefused?: () => boolean; onShow?: () => void };

export interface CallOptions {
  use?: FolderUse;
  network?: string[];
  by?: Author;
  callId?: string;
  /** Whether people were asked about working without a sandbox. Default: whether the sandbox is missing. */
  isUnconfined?: boolean;
  signal?: AbortSignal;
  /** The files with which people have approved the call. */
  bound?: BoundFiles;
}

export type Bench = Awaited<ReturnType<typeof createBench>>;

/** A machine on which no view can be made. */
export function noSandbox(): Sandbox {
  return {
    probe: async () => ({ holds: false, layers: "overlay", detail: "switched off by the test" }),
    fits: async () => false,
    open: () => Promise.reject(new Error("there is no sandbox")),
    close: async () => {},
  };
}

let shared: Sandbox | undefined;

/** One for all tests of a worker, because its probe and its copy of /etc cost more than most of their commands do. */
function sharedSandbox(): Sandbox {
  if (shared !== undefined) return shared;
  const folder = mkdtempSync(join(tmpdir(), "remora-sandbox-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  shared = createSandbox({ folder });
  return shared;
}

/** `own` and `given` are conversations with a folder of that kind. */
export async function createBench(options: BenchOptions = {}) {
  const root = await realpath(await mkdtemp(join(tmpdir(), "remora-drafts-")));
  const workspace = join(root, "workspace");
  const folders = new Map([
    [own, join(workspace, "files", "channel-c1")],
    [given, join(root, "website")],
  ]);
  for (const folder of folders.values()) await mkdir(folder, { recursive: true });
  const draftsFolder = join(workspace, "drafts");
  await makeDraftFolders(draftsFolder);

  const ledger = createSqliteLedger({ path: ":memory:" });
  const leases = createInMemoryLeases();
  const bus = createInMemoryBus(silentLog);
  const heard: BusMessage[] = [];
  bus.listen((message) => heard.push(message));
  const shown: ApprovalCard[] = [];
  const settled: ApprovalCard[] = [];
  const accepted: InboundMessage[] = [];
  const sandbox = options.sandbox ?? sharedSandbox();
  const egress = createEgress({ allow: ["127.0.0.0/8"], secrets: {}, log: () => {} });

  const events = createEvents();
  const audit = createRecordedAudit();
  const approvals = createApprovals({
    ...{ ledger, events, audit },
    gate: noRules,
    policy: options.approvals ?? {},
    changes: {
      diff: (record) => drafts.diff(record),
      undo: (record, id, by) => drafts.undo(record, id, by),
      runAgain: (record, id, by) => drafts.runAgain(record, id, by),
    },
    wake: () => {},
    onSettled: async (card) => void settled.push(card),
    remember: async () => {},
    mask: (content) => content,
    log: silentLog,
  });
  const drafts = createDrafts({
    ...{ ledger, leases, bus, events, audit, sandbox, egress, approvals, log: silentLog },
    policy: options.policy ?? { own: "keep", given: "ask" },
    undo: { maxAgeMs: 7 * 86_400_000, maxBytes: 1024 ** 3 },
    folder: draftsFolder,
    isGiven: (folder) => folder === folders.get(given),
    unconfinedRefusal: options.unconfinedRefusal,
    environment: {},
    exposed: options.exposed ?? (() => ({ readable: [], mounts: [] })),
    show: async (card) => {
      shown.push(card);
      options.onShow?.();
    },
    isTainted: options.isTainted ?? (() => false),
    repeats: createRepeats(accepted, options.isRepeatRefused),
    fileOrigins: createFileOrigins(ledger),
    outputsFolder: () => "/nowhere",
    specOf: (_conversationId, tool) => (tool === "shell_exec" ? shellSpec : undefined),
    readCommandFiles,
    redact: options.redact ?? ((content) => content),
  });

  const isUnconfinedHere = !(await sandbox.probe()).holds;
  let turns = 0;
  let calls = 0;

  async function startTurn(conversationId = own, by = ann): Promise<TurnRecord> {
    turns += 1;
    const id = `t${turns}`;
    const turn = turnRecord({
      ...{ id, conversationId, scope: "channel:c1", workingFolder: folders.get(conversationId) ?? "/nowhere" },
      target: { platform: "test", conversationId, turnId: id, messageId: `m${turns}` },
      messages: [inboundMessage({ id: `m${turns}`, conversationId, author: by, text: "do it" })],
    });
    await ledger.create("turn", id, { state: "running", body: turn, group: conversationId });
    return turn;
  }

  function callOf(
    turn: TurnRecord,
    { use = "write", network = [], by = ann, callId, isUnconfined = isUnconfinedHere, bound }: CallOptions = {},
  ): FolderCall {
    calls += 1;
    const { id: turnId, conversationId, scope, workingFolder } = turn;
    return {
      callId: callId ?? `c${calls}`,
      tool: "shell_exec",
      scope: { turnId, conversationId, scope, requester: by, workingFolder, isUnconfined, ...(bound && { bound }) },
      ...{ use, network, usesOutputs: false },
    };
  }

  async function call(
    turn: TurnRecord,
    work: (folder: CallFolder) => Promise<ToolAttempt>,
    more: CallOptions = {},
  ): Promise<ToolAttempt> {
    return await drafts.runCall(callOf(turn, more), more.signal ?? never, work);
  }

  /** Runs a command as the shell skill does. Returns its output, and how it ended if it failed. */
  async function run(turn: TurnRecord, command: string, more: CallOptions = {}): Promise<ToolAttempt> {
    const signal = more.signal ?? never;
    return await call(turn, ({ commands }) => runCommand(commands, command, signal), more);
  }

  return {
    ...{
      root,
      workspace,
      ledger,
      bus,
      audit,
      heard,
      shown,
      settled,
      accepted,
      sandbox,
      approvals,
      drafts,
      draftsFolder,
    },
    ...{ startTurn, callOf, call, run },
    folder: (conversationId = own) => folders.get(conversationId) ?? "",
    async write(name: string, content: string, conversationId = own): Promise<void> {
      const file = join(folders.get(conversationId) ?? "", name);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, content);
    },
    /** Ends the turn as the conversation worker does. */
    async end(turn: TurnRecord, how: DraftEnd = "done"): Promise<void> {
      await drafts.settle(turn, how);
      await ledger.transition("turn", turn.id, ["running"], how, (body) => body);
    },
    /** Clicks on the newest card and applies the decision. */
    async click(choice: AnswerChoice, by = ann, more: { parts?: number[]; card?: ApprovalCard } = {}) {
      const card = more.card ?? shown.at(-1);
      if (card === undefined) throw new Error("there is no card to click on");
      const { platform, conversationId, turnId } = card.target;
      const receipt = await approvals.answer({
        ...{ platform, conversationId, cardOrApprovalId: card.items[0]?.approvalId ?? card.id, choice, by, at: 0 },
        ...(more.parts === undefined ? {} : { parts: more.parts }),
      });
      await drafts.settleDecided(turnId);
      await approvals.whenIdle();
      return receipt;
    },
    openDraft: async (conversationId = own): Promise<DraftRecord | undefined> =>
      (await ledger.list("draft", { states: ["open"], group: conversationId }))[0]?.body,
    async cardNow(card = shown.at(-1)): Promise<ApprovalCard> {
      const now = card === undefined ? undefined : await approvals.card(card.id);
      if (now === undefined) throw new Error("there is no card");
      return now;
    },
    async close(): Promise<void> {
      await drafts.close();
      await egress.close();
      await ledger.close();
      await removeFolder(root);
    },
  };
}

async function runCommand(
  commands: CallFolder["commands"],
  command: string,
  signal: AbortSignal,
): Promise<ToolAttempt> {
  if (commands === undefined) throw new Error("the call got no commands");
  const running = await commands.run(command, signal);
  const kill = () => running.kill();
  signal.addEventListener("abort", kill, { once: true });
  if (signal.aborted) kill();
  const [output, end] = await Promise.all([text(running.output), running.ended]);
  return {
    isOk: end.exitCode === 0,
    isAnswer: true,
    text: end.exitCode === 0 ? output.trim() : `${output.trim()} ${end.message} ${end.hint ?? ""}`.trim(),
    files: [],
    isRetryable: false,
  };
}

const noRules: Gate = {
  classify: (_tool, input) => ({ class: "safe", matches: [], tags: [], argsJson: JSON.stringify(input) }),
};
