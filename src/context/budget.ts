/**
 * Chooses the candidates for the prompt by relevance and budget.
 *
 *   1. include all mandatory candidates, whatever they cost
 *   2. add memory, then skills, best score first, each within its share and the remaining budget
 *   3. fill the rest with history: all of it, else its newest half, else its newest quarter, and so on, so that it changes seldom
 *
 * Exceeds the budget only if the mandatory candidates already do. Brain name: ras.
 */

export type BudgetSection = "identity" | "prefrontal" | "memory" | "skills" | "history";

/** Percent of the budget. All shares add up to 100. */
export type Shares = Readonly<Record<BudgetSection, number>>;

export interface ContextItem {
  /** `always` marks parts without a share, such as the running turn and the tools. */
  section: BudgetSection | "always";
  name: string;
  /** Higher is better. Scores are comparable only within one section. */
  score: number;
  tokens: number;
  isMandatory: boolean;
}

interface Decision<C extends ContextItem> {
  candidate: C;
  isKept: boolean;
  reason: string;
}

interface BudgetRow {
  section: ContextItem["section"];
  /** Percent; 0 if the section has no share. */
  share: number;
  limit: number;
  used: number;
  kept: number;
  leftOut: number;
}

export interface Allocation<C extends ContextItem> {
  decisions: Decision<C>[];
  table: BudgetRow[];
  usedTokens: number;
}

/** History comes last and gets the tokens that the other sections have not used. */
const fillOrder = ["identity", "prefrontal", "memory", "skills", "history"] as const;

export function shareOf(total: number, shares: Shares, section: BudgetSection): number {
  return Math.floor((total * shares[section]) / 100);
}

export function allocate<C extends ContextItem>(
  total: number,
  shares: Shares,
  candidates: readonly C[],
): Allocation<C> {
  const decisions = new Map<C, Decision<C>>();
  const used = { always: 0, identity: 0, prefrontal: 0, memory: 0, skills: 0, history: 0 };
  const limits = { ...used };
  let left = total;
  const keep = (candidate: C, reason: string) => {
    decisions.set(candidate, { candidate, isKept: true, reason });
    used[candidate.section] += candidate.tokens;
    left -= candidate.tokens;
  };

  for (const candidate of candidates) if (candidate.isMandatory) keep(candidate, "mandatory");
  limits.always = used.always;
  for (const section of fillOrder) {
    const room = Math.max(0, roomOf(section, total, left, shares, used[section]));
    limits[section] = used[section] + room;
    const open = candidates.filter((candidate) => candidate.section === section && !candidate.isMandatory);
    const leaveOut = (candidate: C, reason: string) => decisions.set(candidate, { candidate, isKept: false, reason });
    if (section === "history") fillNewest(open, room, keep, leaveOut);
    else fill(open, room, keep, leaveOut);
  }
  const inOrder = candidates.flatMap((candidate) => decisions.get(candidate) ?? []);
  return { decisions: inOrder, table: tableOf(inOrder, shares, used, limits), usedTokens: total - left };
}

function roomOf(section: BudgetSection, total: number, left: number, shares: Shares, alreadyUsed: number): number {
  if (section === "history") return left;
  const waiting = fillOrder.slice(fillOrder.indexOf(section)).reduce((sum, name) => sum + shares[name], 0);
  const part = waiting === 0 ? 0 : Math.floor((left * shares[section]) / waiting);
  return Math.min(shareOf(total, shares, section) - alreadyUsed, part);
}

function fill<C extends ContextItem>(
  candidates: readonly C[],
  room: number,
  keep: (candidate: C, reason: string) => void,
  leaveOut: (candidate: C, reason: string) => void,
): void {
  let left = room;
  for (const candidate of bestFirst(candidates)) {
    if (candidate.tokens <= left) {
      keep(candidate, "fits");
      left -= candidate.tokens;
    } else leaveOut(candidate, `needs ${candidate.tokens} tokens, ${left} left`);
  }
}

function fillNewest<C extends ContextItem>(
  candidates: readonly C[],
  room: number,
  keep: (candidate: C, reason: string) => void,
  leaveOut: (candidate: C, reason: string) => void,
): void {
  const sorted = bestFirst(candidates);
  const tokensOf = (count: number) => sorted.slice(0, count).reduce((sum, { tokens }) => sum + tokens, 0);
  let count = sorted.length;
  while (count > 0 && tokensOf(count) > room) count = Math.floor(count / 2);
  for (const [index, candidate] of sorted.entries()) {
    if (index < count) keep(candidate, "fits");
    else leaveOut(candidate, `all together need ${tokensOf(sorted.length)} tokens, ${room} left`);
  }
}

/** The earlier of two with equal scores comes first. */
function bestFirst<C extends ContextItem>(candidates: readonly C[]): C[] {
  return candidates.toSorted((one, other) => other.score - one.score);
}

function tableOf<C extends ContextItem>(
  decisions: readonly Decision<C>[],
  shares: Shares,
  used: Readonly<Record<ContextItem["section"], number>>,
  limits: Readonly<Record<ContextItem["section"], number>>,
): BudgetRow[] {
  return (["always", ...fillOrder] as const).map((section) => {
    const own = decisions.filter(({ candidate }) => candidate.section === section);
    const kept = own.filter((decision) => decision.isKept).length;
    const share = section === "always" ? 0 : shares[section];
    return { section, share, limit: limits[section], used: used[section], kept, leftOut: own.length - kept };
  });
}
