/**
 * Who may answer an approval: the rule for a tool, whether a person fits it, and the rule in words.
 *
 * An id in a rule is compared whole. Bots never fit. An empty list fits nobody.
 */
import type { ApprovalRecord } from "../ports/approval.ts";
import type { Author } from "../ports/message.ts";

export interface AnswerRule {
  /** `requester`, `user:<platform>:<id>`, `user:<id>`, `role:<platform>:<id>`, `role:<id>`. Empty: nobody. */
  approvers: string[];
  /** How many different people must approve. */
  quorum: number;
  /** The one who asked may not approve (but may deny, when listed). */
  notRequester: boolean;
}

export interface ApprovalPolicy extends Partial<AnswerRule> {
  /** What differs for single tools, by tool name. */
  tools?: Readonly<Record<string, Partial<AnswerRule>>>;
  /** The only ones who may answer for the tools of `ownersOnly`; entries as in `approvers`. */
  owners?: string[];
  /** Asked for every call: true for tools that run without their sandbox, for instance. */
  ownersOnly?(tool: string): boolean;
  /** How long a card can be answered; null: for ever. Default one hour. */
  expiryMs?: number | null;
  /** Open cards in one conversation; further calls are denied. Default 5. */
  maxOpenCards?: number;
  /** How long a grant lasts. Default 30 minutes. */
  grantMs?: number;
}

/**
 * The machine itself: the command line, or the dashboard with the page's token. Nobody in a chat fits it. It stands in a rule
 * where owners are needed and none are configured.
 */
const atTheMachine = "operator";

/** `isMasked`: people do not see all of the call, so only somebody who runs the agent may approve it. */
export function ruleFor(policy: ApprovalPolicy, tool: string, isMasked = false): AnswerRule {
  const own = policy.tools !== undefined && Object.hasOwn(policy.tools, tool) ? policy.tools[tool] : undefined;
  const rule = {
    approvers: own?.approvers ?? policy.approvers ?? ["requester"],
    quorum: own?.quorum ?? policy.quorum ?? 1,
    notRequester: own?.notRequester ?? policy.notRequester ?? false,
  };
  const owners = policy.owners ?? [];
  if (policy.ownersOnly?.(tool) === true) return { ...rule, approvers: owners };
  // Where nobody may approve the tool at all, nobody may approve it masked.
  if (!isMasked || rule.approvers.length === 0) return rule;
  const named = owners.filter((entry) => entry !== "requester");
  return named.length === 0
    ? { approvers: [atTheMachine], quorum: 1, notRequester: false }
    : { ...rule, approvers: named };
}

/**
 * The same where several people have asked for what is decided. Whoever asked last must not decide alone about what others
 * asked for: other approvers decide, and where there are none, all who asked must agree.
 */
export function ruleForAll(rule: AnswerRule, { platform, by, alsoAsked = [] }: Requester): AnswerRule {
  if (alsoAsked.length === 0 || rule.notRequester || !rule.approvers.includes("requester")) return rule;
  const others = rule.approvers.filter((entry) => entry !== "requester");
  if (others.length > 0) return { ...rule, approvers: others };
  const askers = [by.id, ...alsoAsked].map((id) => `user:${platform}:${id}`);
  return { ...rule, approvers: askers, quorum: Math.max(rule.quorum, askers.length) };
}

const defaultExpiryMs = 60 * 60 * 1000;

/** Milliseconds; null: never. */
export function expiryMsOf({ expiryMs }: ApprovalPolicy): number | null {
  return expiryMs === undefined ? defaultExpiryMs : expiryMs;
}

export interface Person {
  platform: string;
  by: Author;
}

/** Who asked, and who else did: several people's turns may have changed the same draft. */
export interface Requester extends Person {
  alsoAsked?: readonly string[];
}

/** `requester` comes from the record, never from what a click says. */
export function fits(rule: AnswerRule, person: Person, requester: Requester, choice: "approve" | "deny"): boolean {
  if (person.by.isBot) return false;
  const isThere = person.platform === requester.platform;
  const isRequester = isThere && person.by.id === requester.by.id;
  const hasAsked = isRequester || (isThere && requester.alsoAsked?.includes(person.by.id) === true);
  if (choice === "approve" && rule.notRequester && hasAsked) return false;
  // Each of several may say no to what was asked for together.
  if (choice === "deny" && hasAsked && (requester.alsoAsked ?? []).length > 0) return true;
  return rule.approvers.some((entry) => {
    if (entry === "requester") return isRequester;
    return namesOf("user", person.platform, person.by.id).includes(entry) || hasRole(person, entry);
  });
}

function hasRole({ platform, by }: Person, entry: string): boolean {
  return by.roles.some((role) => namesOf("role", platform, role).includes(entry));
}

function namesOf(kind: "user" | "role", platform: string, id: string): string[] {
  return [`${kind}:${id}`, `${kind}:${platform}:${id}`];
}

export function requesterOf(record: ApprovalRecord): Requester {
  const { alsoAsked = [] } = record;
  return { platform: record.target.platform, by: record.requester, alsoAsked };
}

/** The same people may answer both, so that one card can stand for both. */
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

/** Why nobody could ever approve; undefined when somebody could. Roles may have any number of members. */
export function impossibilityOf(rule: AnswerRule): string | undefined {
  const people = new Set(rule.approvers);
  if (rule.notRequester) people.delete("requester");
  const isOpenEnded = rule.approvers.some((entry) => entry.startsWith("role:"));
  if (rule.approvers.length === 0) {
    return "Nobody may approve this call: the configuration names no approvers for it.";
  }
  if (people.size === 0) return "Nobody may approve this call: only the requester is listed, and may not approve it.";
  if (!isOpenEnded && people.size < rule.quorum) {
    return `Nobody can approve this call: it needs ${rule.quorum} people, and the configuration names ${people.size}.`;
  }
  return undefined;
}

/** Plain text; names are as their platform gave them. */
export function approversText(rule: AnswerRule, requesterName: string): string {
  const people = rule.approvers
    .filter((entry) => entry !== "requester" || !rule.notRequester)
    .map((entry) => {
      if (entry === "requester") return `${requesterName} (who asked)`;
      if (entry === atTheMachine) return "the operator, on the dashboard or the command line";
      return entry.startsWith("role:") ? `anyone with role ${entry.slice(5)}` : `user ${entry.replace(/^user:/, "")}`;
    });
  const who = people.length === 0 ? "nobody" : people.join(", ");
  const parts = [who];
  if (rule.quorum > 1) parts.push(`${rule.quorum} people must approve`);
  if (rule.notRequester) parts.push(`not ${requesterName}, who asked`);
  return parts.join("; ");
}

/** Whether a person is among `safety.owners`. Asking for something does not make an owner of anybody. */
export function createOwnerCheck(owners: readonly string[]): (platform: string, by: Author) => boolean {
  const approvers = owners.filter((entry) => entry !== "requester");
  return (platform, by) =>
    fits({ approvers, quorum: 1, notRequester: false }, { platform, by }, { platform, by }, "approve");
}
