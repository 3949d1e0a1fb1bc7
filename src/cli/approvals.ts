/**
 * `remora approvals` settles records in the ledger, even if no agent is running. A running agent shows the result
 * within seconds, otherwise the next start does. The agent makes all checks again before the call runs.
 */
import { join } from "node:path";
import { createApprovals } from "../approvals/approvals.ts";
import { escapeHidden } from "../approvals/card-text.ts";
import { approvalPolicy } from "../config/derive.ts";
import type { Environment } from "../config/environment.ts";
import type { Settings } from "../config/settings.ts";
import { createGate } from "../gate/gate.ts";
import { RemoraError } from "../lib/errors.ts";
import { createEvents } from "../lib/event-bus.ts";
import { silentLog } from "../lib/log.ts";
import { createMasker, type Mask } from "../lib/redact.ts";
import type { ApprovalDesk } from "../ports/approval.ts";
import type { Audit } from "../ports/audit.ts";
import type { ApprovalCard } from "../ports/card.ts";
import type { Ledger } from "../ports/ledger.ts";
import { readDraftDiff } from "../sandbox/draft/draft-diff.ts";
import { draftsFolderOf } from "../sandbox/draft/draft-folders.ts";
import { contentOf, gateRules } from "../skill-runtime/library/library.ts";
import { loadSkills } from "../skill-runtime/library/load.ts";
import { createBudgetDecisions } from "../usage/budget-decisions.ts";
import { readToken } from "../web/page-token.ts";
import { cardJson, cardsText } from "./approval-text.ts";
import { requireLedger, withAudit, withLedger } from "./open-state.ts";
import { settingsFor, skillRootsOf } from "./settings.ts";

interface ListOptions {
  json?: boolean;
}

interface DecideOptions extends ListOptions {
  reason?: string;
}

/** Prefixes shorter than this could match several ids by accident. */
const minPrefixCharacters = 4;
/** 128 bits as base64url. */
const idLength = 22;

export async function approvalsListCommand(env: Environment, root: string, { json }: ListOptions): Promise<void> {
  const cards = await withDesk(settingsFor(env, root), (desk) => desk.listOpen());
  process.stdout.write(json ? `${JSON.stringify(cards.map(cardJson), null, 1)}\n` : cardsText(cards));
}

export async function approvalsDecideCommand(
  env: Environment,
  root: string,
  choice: "approve" | "deny",
  written: string,
  { json, reason }: DecideOptions,
): Promise<void> {
  const receipt = await withDesk(settingsFor(env, root), async (desk) => {
    const cardOrApprovalId = fullId(await desk.listOpen(), written);
    return await desk.decide({ cardOrApprovalId, choice, ...(reason === undefined ? {} : { reason }) });
  });
  process.stdout.write(json ? `${JSON.stringify(receipt)}\n` : `${receipt.text}\n`);
  if (!receipt.accepted) process.exitCode = 1;
}

export async function approvalsWhyCommand(env: Environment, root: string, written: string): Promise<void> {
  const items = await withDesk(settingsFor(env, root), async (desk) => {
    const open = await desk.listOpen();
    const id = fullId(open, written);
    return open.flatMap((card) => card.items.filter((item) => card.id === id || item.approvalId === id));
  });
  if (items.length === 0)
    throw idError(written, "is no open card or approval. `remora approvals list` shows the open ones");
  process.stdout.write(items.map(({ headline, why }) => `${[headline, ...why].join("\n  ")}\n`).join(""));
}

export async function approvalsDiffCommand(env: Environment, root: string, written: string): Promise<void> {
  const diff = await withDesk(settingsFor(env, root), async (desk) =>
    desk.diffOf(fullId(await desk.listOpen(), written)),
  );
  if (diff === undefined) throw idError(written, "has no diff: it is not about changes, or the changes are gone");
  process.stdout.write(diff.endsWith("\n") ? diff : `${diff}\n`);
}

async function withDesk<T>(settings: Settings, work: (desk: ApprovalDesk) => Promise<T>): Promise<T> {
  requireLedger(settings, "approvals");
  const pageToken = await readToken(join(settings.data, "page-token"));
  const mask = createMasker([...settings.secrets, { name: "token of the page", value: pageToken }]);
  return await withLedger(settings, (ledger) =>
    withAudit(settings, mask, async (audit) => await work(await createDesk(settings, ledger, mask, audit))),
  );
}

const onlyAgent = { accepted: false, text: "Only the agent can do that. Use the card or the dashboard." };

/** Only settles records. The agent updates cards, records decisions and wakes turns. */
async function createDesk(settings: Settings, ledger: Ledger, mask: Mask, audit: Audit): Promise<ApprovalDesk> {
  const set = await loadSkills(skillRootsOf(settings));
  return createApprovals({
    ...{ ledger, mask, audit },
    events: createEvents(),
    gate: createGate({ rules: gateRules(set), matching: settings.config.safety.matching }),
    policy: approvalPolicy(settings),
    wake: () => {},
    remember: () => Promise.reject(new Error("only the agent records decisions")),
    skillFile: (tool) => contentOf(set, tool),
    budgets: createBudgetDecisions({ ledger }),
    changes: {
      diff: (record) => readDraftDiff(ledger, draftsFolderOf(settings.workspace), record),
      undo: async () => onlyAgent,
      runAgain: async () => onlyAgent,
    },
    log: silentLog,
  });
}

/** An unknown id of full length is passed on, because its receipt tells the outcome. */
function fullId(cards: ApprovalCard[], written: string): string {
  const known = cards.flatMap((card) => [card.id, ...card.items.map((item) => item.approvalId)]);
  if (known.includes(written)) return written;
  const matching = known.filter((id) => id.startsWith(written));
  const [only, another] = matching;
  if (written.length < minPrefixCharacters)
    throw idError(written, `is too short: give at least ${minPrefixCharacters} characters`);
  if (another !== undefined)
    throw idError(written, `matches several ids: ${matching.join(", ")}. Give more characters`);
  if (only === undefined && written.length < idLength) {
    throw idError(written, "is no open card or approval. `remora approvals list` shows the open ones");
  }
  return only ?? written;
}

function idError(written: string, message: string): RemoraError {
  return new RemoraError({ code: "approvals.unknown-id", place: `approvals ${escapeHidden(written)}`, message });
}
