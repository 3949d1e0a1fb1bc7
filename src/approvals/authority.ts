/** Decides who may answer an approval. Ids must match completely. Bots never match. An empty list matches nobody. */
import type { ApprovalRecord } from "../ports/approval.ts";
import type { Author } from "../ports/message.ts";
import { budgetTool } from "../ports/tool-offer.ts";

export interface AnswerRule {
  /** `requester`, `user:<platform>:<id>`, `user:<id>`, `role:<platform>:<id>` or `role:<id>`. Empty means nobody. */
  approvers: string[];
  /** Number of different people who must approve. */
  quorum: number;
  /** If true, the requester may not approve, but may deny if listed. */
  notRequester: boolean;
}

export interface ApprovalPolicy extends Partial<AnswerRule> {
  tools?: Readonly<Record<string, Partial<AnswerRule>>>;
  /** Only these people may answer for the tools of `ownersOnly`. Entries have the same form as in `approvers`. */
  owners?: string[];
  /** Called for every call. True, for example, for a tool that runs without its sandbox. */
  ownersOnly?(tool: string): boolean;
  /** Lifetime of a card; null means no limit. Defaults to one hour. */
  expiryMs?: number | null;
  maxOpenCards?: number;
  grantMs?: number;
}

/** The default owner: the person at the command line or the dashboard. Matches nobody in a chat. */
export const atTheMachine = "operator";

/** `isMasked` means that people can't see all of the call, so only an owner may approve it. */
export function ruleFor(policy: ApprovalPolicy, tool: string, isMasked = false): AnswerRule {
  const own = policy.tools !== undefined && Object.hasOwn(policy.tools, tool) ? policy.tools[tool] : undefined;
  const rule = {
    approvers: own?.approvers ?? policy.approvers ?? ["requester"],
    quorum: own?.quorum ?? policy.quorum ?? 1,
    notRequester: own?.notRequester ?? policy.notRequester ?? false,
  };
  const owners = policy.owners ?? [];
  if (policy.ownersOnly?.(tool) === true) return { ...rule, approvers: owners };
  // An empty list means nobody, even for a masked call.
  if (!isMasked || rule.approvers.length === 0) return rule;
  const named = owners.filter((entry) => entry !== "requester");
  return named.length === 0
    ? { approvers: [atTheMachine], quorum: 1, notRequester: false }
    : { ...rule, approvers: named };
}

/** Owners answer, unless the policy names others for budgets. The approvers of calls are often the requesters. */
export function budgetRule({ tools, owners = [] }: ApprovalPolicy): AnswerRule {
  const own = tools !== undefined && Object.hasOwn(tools, budgetTool) ? tools[budgetTool] : undefined;
  const named = owners.filter((entry) => entry !== "requester");
  return {
    approvers: own?.approvers ?? (named.length === 0 ? [atTheMachine] : named),
    quorum: own?.quorum ?? 1,
    notRequester: own?.notRequester ?? false,
  };
}

/** The last of several requesters must not decide alone: other approvers decide, or else all requesters approve. */
export function ruleForAll(rule: AnswerRule, { platform, by, alsoAsked = [] }: Requester): AnswerRule {
  if (alsoAsked.length === 0 || rule.notRequester || !rule.approvers.includes("requester")) return rule;
  const others = rule.approvers.filter((entry) => entry !== "requester");
  if (others.length > 0) return { ...rule, approvers: others };
  const askers = [by.id, ...alsoAsked].map((id) => `user:${platform}:${id}`);
  return { ...rule, approvers: askers, quorum: Math.max(rule.quorum, askers.length) };
}

const defaultExpiryMs = 60 * 60 * 1000;

export function expiryMsOf({ expiryMs }: ApprovalPolicy): number | null {
  return expiryMs === undefined ? defaultExpiryMs : expiryMs;
}

export interface Person {
  platform: string;
  by: Author;
}

/** `alsoAsked` lists other people whose turns changed the same draft. */
export interface Requester extends Person {
  alsoAsked?: readonly string[];
}

/** Take `requester` from the record, never from the click. */
export function fits(rule: AnswerRule, person: Person, requester: Requester, choice: "approve" | "deny"): boolean {
  if (person.by.isBot) return false;
  const isThere = person.platform === requester.platform;
  const isRequester = isThere && person.by.id === requester.by.id;
  const hasAsked = isRequester || (isThere && requester.alsoAsked?.includes(person.by.id) === true);
  if (choice === "approve" && rule.notRequester && hasAsked) return false;
  // If there are several requesters, each may deny.
  if (choice === "deny" && hasAsked && (requester.alsoAsked ?? []).length > 0) return true;
  return rule.approvers.some((entry) => {
    if (entry === "requester") return isRequester;
    return entriesFor("user", person.platform, person.by.id).includes(entry) || hasRole(person, entry);
  });
}

function hasRole({ platform, by }: Person, entry: string): boolean {
  return by.roles.some((role) => entriesFor("role", platform, role).includes(entry));
}

/** Identities of people who sign in to the dashboard without a chat service. They can answer on every platform. */
const dashboardPlatforms: readonly string[] = ["account", "oidc"];

export function isDashboardEntry(entry: string): boolean {
  return dashboardPlatforms.some((platform) => entry.startsWith(`user:${platform}:`));
}

/** In a chat, people answer only cards of that service. */
export function reaches(personsPlatform: string, cardsPlatform: string): boolean {
  return personsPlatform === cardsPlatform || isDashboardPlatform(personsPlatform);
}

function isDashboardPlatform(platform: string): boolean {
  return dashboardPlatforms.includes(platform);
}

/** An entry without a platform names people of chat services only, because other services choose their ids themselves. */
export function entriesFor(kind: "user" | "role", platform: string, id: string): string[] {
  if (isDashboardPlatform(platform)) return [`${kind}:${platform}:${id}`];
  return [`${kind}:${id}`, `${kind}:${platform}:${id}`];
}

export function requesterOf(record: ApprovalRecord): Requester {
  const { alsoAsked = [] } = record;
  return { platform: record.target.platform, by: record.requester, alsoAsked };
}

export function hasSameAnswerers(one: ApprovalRecord, rule: AnswerRule, requester: Requester): boolean {
  const isSameRule =
    one.quorum === rule.quorum &&
    one.notRequester === rule.notRequester &&
    one.approvers.length === rule.approvers.length &&
    one.approvers.every((entry, index) => entry === rule.approvers[index]);
  const dependsOnRequester = rule.notRequester || rule.approvers.includes("requester");
  const isSameRequester = one.target.platform === requester.platform && one.requester.id === requester.by.id;
  const haveSameAsked = [...(one.alsoAsked ?? [])].sort().join() === [...(requester.alsoAsked ?? [])].sort().join();
  return isSameRule && (!dependsOnRequester || (isSameRequester && haveSameAsked));
}

/** Explains why a rule can never be met, or returns undefined. A role may have any number of members. */
export function impossibilityOf(rule: AnswerRule): string | undefined {
  const people = new Set(rule.approvers);
  if (rule.notRequester) people.delete("requester");
  const isOpenEnded = rule.approvers.some((entry) => entry.startsWith("role:"));
  if (rule.approvers.length === 0) {
    return "Nobody can approve this call: no approvers are configured for it.";
  }
  if (people.size === 0)
    return "Nobody can approve this call: the only approver is the requester, who may not approve it.";
  if (!isOpenEnded && people.size < rule.quorum) {
    return `Nobody can approve this call: it needs ${rule.quorum} approvers, and only ${people.size} can be found in the configuration.`;
  }
  return undefined;
}

/** Checks whether a person is among `safety.owners`. Ignores the entry `requester`. */
export function createOwnerCheck(owners: readonly string[]): (platform: string, by: Author) => boolean {
  const approvers = owners.filter((entry) => entry !== "requester");
  return (platform, by) =>
    fits({ approvers, quorum: 1, notRequester: false }, { platform, by }, { platform, by }, "approve");
}
