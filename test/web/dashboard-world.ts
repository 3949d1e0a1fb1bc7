/** The real web server with the dashboard, over a ledger in memory. Cards, decisions and stops are the test's own. */
import { configSchema } from "../../src/config/schema.ts";
import { createEvents } from "../../src/lib/event-bus.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { AnsweringPerson, OperatorDecision } from "../../src/ports/approval.ts";
import type { ApprovalCard, CardItem, ShownChanges } from "../../src/ports/card.ts";
import type { StatusLine } from "../../src/ports/health.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { AnswerReceipt } from "../../src/ports/message.ts";
import type { TurnRecord, TurnState } from "../../src/ports/turn.ts";
import { createSqliteLedger } from "../../src/storage/sqlite/ledger.ts";
import { createTurnReports } from "../../src/turn-report/create-report.ts";
import { type DashboardOptions, mountDashboard } from "../../src/web/dashboard.ts";
import { createMetrics } from "../../src/web/metrics.ts";
import { createWebServer, type WebServer, type WebServerOptions } from "../../src/web/server.ts";
import { createRecordedAudit, type RecordedAudit } from "../doubles/audit.ts";
import { turnRecord } from "../doubles/records.ts";

export const token = "a-token-for-this-test";
export const asProgram = { authorization: `Bearer ${token}` };

export interface DashboardWorld {
  url: string;
  ledger: Ledger;
  audit: RecordedAudit;
  cards: ApprovalCard[];
  decisions: OperatorDecision[];
  decidedAs: (OperatorDecision & AnsweringPerson)[];
  /** Ids of the approvals that a person who has signed in may answer. */
  answerable: string[];
  server: WebServer;
  receipt: AnswerReceipt;
  diff: string;
  status: StatusLine[];
  stopped: string[];
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  close(): Promise<void>;
}

export async function createDashboardWorld(
  changes: Partial<DashboardOptions> = {},
  address: Pick<WebServerOptions, "publicUrl" | "trustedProxies"> = {},
): Promise<DashboardWorld> {
  const ledger = createSqliteLedger({ path: ":memory:" });
  const metrics = createMetrics(createEvents());
  const readiness = () => ({ isReady: true, detail: "ready" });
  const server = createWebServer({ host: "127.0.0.1", port: 0, token, readiness, metrics, log: silentLog, ...address });
  const asIs = (text: string) => text;
  const world: DashboardWorld = {
    ...{ url: "", ledger, audit: createRecordedAudit(), cards: [], decisions: [], stopped: [], status: [] },
    ...{ server, decidedAs: [], answerable: [] },
    receipt: { accepted: true, text: "Denied." },
    diff: "--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- <b>old</b>\n+new",
    get: (path, headers = asProgram) => fetch(world.url + path, { headers }),
    post: (path, body, headers = asProgram) =>
      fetch(world.url + path, {
        method: "POST",
        body: typeof body === "string" ? body : JSON.stringify(body),
        headers,
      }),
    async close() {
      await server.close();
      metrics.close();
      await ledger.close();
    },
  };
  mountDashboard(server.app, {
    version: "1.2.3",
    startedAt: Date.now() - 65_000,
    ledger,
    audit: world.audit,
    mask: asIs,
    reports: createTurnReports({
      ledger,
      texts: { line: asIs, lines: asIs, call: ({ name, input }) => `${name} ${JSON.stringify(input)}` },
    }),
    status: () => world.status,
    approvals: {
      listOpen: async () => world.cards,
      async decide(decision) {
        world.decisions.push(decision);
        world.cards = world.cards.filter((card) =>
          card.items.every(({ approvalId }) => approvalId !== decision.cardOrApprovalId),
        );
        return world.receipt;
      },
      decideAs: async (person, decision) => {
        world.decidedAs.push({ ...decision, ...person });
        return world.receipt;
      },
      answerable: async () => new Set(world.answerable),
      diffOf: async (id) => (id === "a1" ? world.diff : undefined),
      listGrants: async () => [],
      revokeGrant: async () => ({ accepted: false, text: "No active grant has this id here." }),
    },
    schedules: { all: async () => [], end: async () => false },
    memory: {
      ...{ scopes: () => [], files: () => [], read: async () => undefined, search: async () => [] },
      ...{ correct: async () => ({ type: "gone" }), remove: async () => ({ type: "gone" }) },
    },
    skills: {
      ...{ current: () => ({ skills: [], diagnostics: [] }), isIsolated: () => false, stateOf: () => "on" },
      ...{ turn: async () => {}, reload: async () => ({ skills: [], diagnostics: [] }) },
    },
    mayRead: async () => false,
    settings: () => ({ configFile: "config/remora.yaml", settings: [] }),
    usage: {
      budgets: async () => [],
      overview: async () => ({ today: "", days: [], people: [], channels: [], models: [], isComplete: true }),
    },
    limits: configSchema.parse({}).limits,
    ratings: { counts: async () => ({ good: 0, bad: 0 }), recent: async () => [] },
    queue: { counts: () => ({ running: 0, waiting: 0 }) },
    history: { list: async () => ({ changes: [], older: null }) },
    storageSizes: () => [{ name: "task files", items: 2, bytes: 2_048, kept: "90 days" }],
    conversations: {
      async stopTurn(turnId) {
        world.stopped.push(turnId);
        return (await ledger.get("turn", turnId))?.state === "running";
      },
      status: async () => ({ running: 0, parked: 0, queued: 0 }),
    },
    prompts: async () => [],
    log: async () => ({ lines: [], next: null }),
    ...changes,
  });
  ({ url: world.url } = await server.start());
  return world;
}

export async function addTurn(ledger: Ledger, state: TurnState, changes: Partial<TurnRecord> & { id: string }) {
  const body = turnRecord(changes);
  await ledger.create("turn", body.id, { state, body, group: body.conversationId });
}

export function cardWith(id: string, changes: Partial<CardItem> = {}): ApprovalCard {
  return {
    id: `card-of-${id}`,
    target: { platform: "local", conversationId: "local:dm:ann", turnId: "t1", messageId: "m1" },
    requesterName: "Ann",
    approversText: "Ann (who asked)",
    expiresAt: Date.now() + 60_000,
    items: [
      {
        approvalId: id,
        tool: "shell_exec",
        callText: 'shell_exec\ncommand: "rm notes.txt"',
        headline: "Run `rm notes.txt`",
        reason: "It may change something.",
        why: ["Skill shell asks: it may change something. Pattern “rm”."],
        warning: "A word mixes alphabets.",
        times: 2,
        state: "open",
        choices: ["approve", "deny", "edit"],
        facts: ["Connects to registry.example:443"],
        ...changes,
      },
    ],
  };
}

export function changesCard(id: string): ApprovalCard {
  const changes: ShownChanges = {
    title: "website: 1 file deleted, 1 added",
    summary: "Somebody must agree before they are kept.",
    files: [
      { path: "<b>old</b>.html", action: "deleted", detail: "−40" },
      { path: "new.html", action: "added", detail: "+12" },
    ],
    moreFiles: 0,
    commands: [{ text: "npm test", outcome: "exit code 1" }],
    lastOutput: "1 test failed",
    labels: { approve: "Keep", deny: "Discard" },
  };
  const { warning: _warning, ...item } = cardWith(id).items[0] as CardItem;
  const card = cardWith(id);
  return {
    ...card,
    items: [
      {
        ...item,
        tool: "changes",
        callText: "",
        headline: "Delete 1 and add 1 file in website",
        why: [],
        facts: [],
        times: 1,
        changes,
        choices: ["approve", "deny", "part", "diff"],
      },
    ],
  };
}
