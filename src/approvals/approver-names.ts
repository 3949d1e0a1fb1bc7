/**
 * Names the people who can still answer, for cards and refusals. Leaves out who has voted, a requester who may not approve,
 * and people of other chat services. The texts are plain; platforms escape them.
 */
import type { ApprovalRecord } from "../ports/approval.ts";
import { atTheMachine, entriesFor, isDashboardEntry } from "./authority.ts";

/** The current names of people and roles, by id. */
export type KnownNames = ReadonlyMap<string, string>;

/** Further people and roles are counted, not named. */
export const maxNamedApprovers = 10;

type AskedRecord = Pick<ApprovalRecord, "approvers" | "notRequester" | "requester" | "alsoAsked" | "target" | "votes">;

/** Entries of the rule, in its order, each person once. Votes count by platform and id. */
export function waitingEntries(record: AskedRecord): string[] {
  const { approvers, notRequester, requester, alsoAsked = [], target, votes } = record;
  const { platform } = target;
  const askers = [requester.id, ...alsoAsked].flatMap((id) => entriesFor("user", platform, id));
  const voted = votes.flatMap((vote) =>
    vote.isOperator ? [atTheMachine] : entriesFor("user", vote.platform ?? platform, vote.by.id),
  );
  const left = approvers
    .map((entry) => (entriesFor("user", platform, requester.id).includes(entry) ? "requester" : entry))
    .filter((entry) => !notRequester || (entry !== "requester" && !askers.includes(entry)))
    .filter((entry) => !voted.includes(entry === "requester" ? `user:${platform}:${requester.id}` : entry))
    .filter((entry) => isOf(entry, platform));
  return [...new Map(left.map((entry) => [entry.replace(`:${platform}:`, ":"), entry])).values()];
}

/** For example `Ann (who asked), Ben or anyone in Operations`. Empty for nobody. */
export function approverNames(record: AskedRecord, known: KnownNames = new Map()): string {
  const entries = waitingEntries(record);
  const names = entries.slice(0, maxNamedApprovers).map((entry) => nameOf(entry, record, known));
  const others = entries.length - names.length;
  if (others > 0) names.push(others === 1 ? "one other person" : `${others} others`);
  const last = names.pop() ?? "";
  return names.length === 0 ? last : `${names.join(", ")} or ${last}`;
}

/** For example `Ben or Cara can answer`. Follows `Asked by …`. */
export function approversText(record: AskedRecord & Pick<ApprovalRecord, "quorum">, known?: KnownNames): string {
  const { quorum, requester, votes } = record;
  const names = approverNames(record, known);
  if (names === "") return "nobody can answer";
  if (waitingEntries(record).join() === "requester") return `only ${requester.name} can answer`;
  return quorum > 1 && votes.length === 0 ? `${quorum} of these must approve: ${names}` : `${names} can answer`;
}

function nameOf(entry: string, { requester, notRequester }: AskedRecord, known: KnownNames): string {
  if (entry === "requester") return `${requester.name} (who asked)`;
  if (entry === atTheMachine) return "the operator, on the dashboard or the command line";
  if (isDashboardEntry(entry)) return `${idOf(entry)} (on the dashboard)`;
  const name = known.get(idOf(entry));
  if (!entry.startsWith("role:")) return name ?? `user ${entry.replace(/^user:/, "")}`;
  // The requester may be in the role, too.
  const anyone = notRequester ? "anyone else" : "anyone";
  return name === undefined ? `${anyone} with role ${entry.slice(5)}` : `${anyone} in ${name}`;
}

/** `user:<id>` and `user:<platform>:<id>`. Other chat services' people can't answer here. */
function isOf(entry: string, platform: string): boolean {
  const [, ...rest] = entry.split(":");
  return rest.length < 2 || rest[0] === platform || isDashboardEntry(entry);
}

function idOf(entry: string): string {
  return isDashboardEntry(entry) ? entry.replace(/^user:[a-z]+:/, "") : entry.slice(entry.lastIndexOf(":") + 1);
}
