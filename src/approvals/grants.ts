/**
 * Grants approve calls in advance: one pattern of one skill, in one conversation, for one person. A call needs grants
 * of one giver for every pattern that asks, and the giver must still be allowed to approve the call. If the gate asks
 * without a pattern, no grant applies.
 */
import { randomBytes } from "node:crypto";
import { describeRule } from "../lib/text/describe-rule.ts";
import type { GrantRecord } from "../ports/approval.ts";
import type { GateMatch } from "../ports/gate.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { AnswerReceipt, Author } from "../ports/message.ts";
import { type AnswerRule, fits, type Requester } from "./authority.ts";

export interface GrantRule {
  skill: string;
  pattern: string;
  /** Shown to people. Only skill and pattern identify the rule. */
  reason?: string;
}

/** Returns the grant rules that cover these matches, or undefined if no grant can. */
export function grantableRules(matches: GateMatch[]): GrantRule[] | undefined {
  const isGrantable = matches.every(
    ({ kind, file, form }) => kind === "confirm" && file !== "" && form !== "fail-closed",
  );
  if (!isGrantable || matches.length === 0) return undefined;
  const rules = new Map<string, GrantRule>();
  for (const { skill, pattern, reason } of matches) {
    rules.set(JSON.stringify([skill, pattern]), { skill, pattern, ...(reason === undefined ? {} : { reason }) });
  }
  return [...rules.values()];
}

interface GrantWanted {
  platform: string;
  conversationId: string;
  matches: GateMatch[];
  requester: Requester;
  rule: AnswerRule;
}

/** Clocks of several machines differ by less. */
const maxClockSkewMs = 60_000;

export interface Grants {
  covering(wanted: GrantWanted): Promise<GrantRecord[] | undefined>;
  /** Creates the grant, or extends the one that the same person has already given to the same person. */
  give(
    place: Pick<GrantRecord, "platform" | "conversationId" | "by">,
    rule: GrantRule,
    expiresAt: number,
    origin: GrantRecord["origin"],
  ): Promise<GrantRecord>;
  /** Adds to the files that are lost or shortened under these grants. False if other changes came first. */
  addLost(
    grants: readonly GrantRecord[],
    lost: readonly string[],
    shrunk: Readonly<Record<string, number>>,
  ): Promise<boolean>;
  /** Ignores expired grants, because they were active when they were used. */
  isAnyRevoked(ids: string[]): Promise<boolean>;
  list(conversationId?: string): Promise<GrantRecord[]>;
  revoke(id: string, by: Author, conversationId?: string): Promise<{ receipt: AnswerReceipt; grant?: GrantRecord }>;
  /** Resolves to the grants that are over since the last sweep. */
  sweep(now: number): Promise<GrantRecord[]>;
}

export function createGrants(ledger: Ledger, now: () => number): Grants {
  async function list(conversationId?: string): Promise<GrantRecord[]> {
    const group = conversationId === undefined ? {} : { group: conversationId };
    const entries = await ledger.list("grant", { states: ["active"], ...group });
    return entries.map((entry) => entry.body).filter((grant) => !isOver(grant, now()));
  }

  return {
    list,
    async covering({ platform, conversationId, matches, requester, rule }) {
      const rules = grantableRules(matches);
      if (rules === undefined || rule.quorum > 1 || (requester.alsoAsked ?? []).length > 0) return undefined;
      const usable = (await list(conversationId)).filter(
        (grant) =>
          grant.platform === platform &&
          grant.origin.userId === requester.by.id &&
          fits(rule, { platform, by: grant.by }, requester, "approve"),
      );
      for (const giver of new Set(usable.map((grant) => grant.by.id))) {
        const given = usable.filter((grant) => grant.by.id === giver);
        const cover = rules.map((wanted) => given.find((grant) => matchesRule(grant, wanted)));
        if (cover.every((grant) => grant !== undefined)) return cover;
      }
      return undefined;
    },
    async give(place, rule, expiresAt, origin) {
      const givenAt = now();
      for (const grant of await list(place.conversationId)) {
        const isSame =
          matchesRule(grant, rule) &&
          grant.by.id === place.by.id &&
          grant.platform === place.platform &&
          grant.origin.userId === origin.userId;
        if (!isSame) continue;
        const longer = await ledger.transition("grant", grant.id, ["active"], "active", (body) => ({
          ...body,
          ...place,
          givenAt,
          expiresAt,
          lost: [],
          firstSizes: {},
          origin,
        }));
        if (longer !== undefined) return longer.body;
      }
      const grant = {
        id: randomBytes(6).toString("hex"),
        ...place,
        ...rule,
        createdAt: givenAt,
        givenAt,
        expiresAt,
        origin,
      };
      await ledger.create("grant", grant.id, { state: "active", body: grant, group: grant.conversationId });
      return grant;
    },
    async addLost(grants, lost, shrunk) {
      if (lost.length === 0 && Object.keys(shrunk).length === 0) return true;
      for (const before of grants) {
        const added = await ledger.transition("grant", before.id, ["active"], "active", (grant) =>
          lossesOf(grant) === lossesOf(before)
            ? {
                ...grant,
                lost: [...new Set([...(grant.lost ?? []), ...lost])],
                firstSizes: { ...shrunk, ...grant.firstSizes },
              }
            : undefined,
        );
        if (added === undefined) return false;
      }
      return true;
    },
    async isAnyRevoked(ids) {
      const entries = await Promise.all(ids.map((id) => ledger.get("grant", id)));
      return entries.some((entry) => entry === undefined || entry.state === "revoked");
    },
    async revoke(id, by, conversationId) {
      const entry = await ledger.get("grant", id);
      const isHere =
        entry !== undefined && (conversationId === undefined || entry.body.conversationId === conversationId);
      const revoked = isHere
        ? await ledger.transition("grant", id, ["active"], "revoked", (grant) => {
            return { ...grant, revokedBy: by, revokedAt: now() };
          })
        : undefined;
      if (revoked === undefined) {
        return {
          receipt: { accepted: false, text: "No active grant has this id here. List the grants to see their ids." },
        };
      }
      return {
        grant: revoked.body,
        receipt: {
          accepted: true,
          text: `Revoked. ${describeRule(revoked.body)} (skill ${revoked.body.skill}) asks again.`,
        },
      };
    },
    async sweep(at) {
      const over: GrantRecord[] = [];
      for (const { id } of await ledger.list("grant", { dueBefore: at + 1 })) {
        const expired = await ledger.transition("grant", id, ["active"], "expired", (grant) =>
          isOver(grant, at) ? grant : undefined,
        );
        if (expired !== undefined) over.push(expired.body);
      }
      return over;
    },
  };
}

function lossesOf({ lost = [], firstSizes = {} }: GrantRecord): string {
  return JSON.stringify([lost, firstSizes]);
}

function matchesRule(grant: GrantRecord, rule: GrantRule): boolean {
  return grant.skill === rule.skill && grant.pattern === rule.pattern;
}

/** Before it was given, it does not count either: the clock was set back, and it would last as much longer. */
function isOver({ givenAt, expiresAt }: GrantRecord, at: number): boolean {
  return at >= expiresAt || at < givenAt - maxClockSkewMs;
}
