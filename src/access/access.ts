/**
 * Who may talk to the agent, as one function for every platform:
 *
 *   1. bots: only those that are named, and only so many times in a row (loops end)
 *   2. guests and people of other workspaces: only where that is switched on
 *   3. spaces, channels, people and roles: null means everyone, a list means those, an empty list nobody
 *   4. DMs: open, closed, or by pairing: a code is shown in the DM, and somebody who may already talk confirms it
 *
 * A refusal tells the person why, at most once an hour; an operator finds it in the log.
 */
import { randomInt } from "node:crypto";
import type { Access, AccessVerdict, Visit } from "../ports/access.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { Author, InboundCommand } from "../ports/message.ts";

export interface AccessRules {
  users: readonly string[] | null;
  roles: readonly string[] | null;
  channels: readonly string[] | null;
  /** Guilds or workspaces. */
  spaces: readonly string[] | null;
  dms: "open" | "pairing" | "closed";
  guests: boolean;
  externals: boolean;
  bots: readonly string[];
  /** How many messages of bots in a row are answered in one conversation. */
  botTurns: number;
}

export interface AccessOptions {
  /** By platform; one without rules is open to everyone who can reach it. */
  rules: Readonly<Record<string, AccessRules>>;
  ledger: Ledger;
  isOwner(platform: string, person: Author): boolean;
  now?: () => number;
}

const allowed: AccessVerdict = { type: "allowed" };
const noticeEveryMs = 3_600_000;
const codeLastsMs = 15 * 60_000;
const wrongCodes = 5;
const remembered = 10_000;
/** Without those that are easily taken for another. */
const letters = "ABCDEFGHJKMNPQRSTUVWXYZ23456789";

export function createAccess({ rules, ledger, isOwner, now = Date.now }: AccessOptions): Access {
  const toldAt = new Map<string, number>();
  const wrong = new Map<string, { count: number; since: number }>();

  async function check(visit: Visit): Promise<AccessVerdict> {
    const { platform, author } = visit;
    const rule = rules[platform];
    if (rule === undefined) return allowed;
    if (author.isBot) return await checkBot(visit, rule);
    if (isOwner(platform, author)) return allowed;
    if (author.kind === "guest" && !rule.guests) return refused(visit, "guests may not use me here");
    if (author.kind === "external" && !rule.externals)
      return refused(visit, "people from other workspaces may not use me here");
    if (visit.isDirect) return await checkDirect(visit, rule);
    if (!isListed(rule.spaces, visit.spaceId)) return refused(visit, "I am not to be used in this server or workspace");
    if (!isListed(rule.channels, visit.channelId)) return refused(visit, "I am not to be used in this channel");
    return isPersonListed(rule, author) ? allowed : refused(visit, "you are not among those who may use me");
  }

  async function checkDirect(visit: Visit, rule: AccessRules): Promise<AccessVerdict> {
    const { platform, author } = visit;
    if (rule.dms === "closed") return refused(visit, "direct messages to me are closed");
    const isNamed = rule.users?.includes(author.id) === true;
    if (rule.dms === "open") {
      return isPersonListed(rule, author) ? allowed : refused(visit, "you are not among those who may use me");
    }
    if (isNamed) return allowed;
    const pairing = await ledger.get("pairing", pairingId(platform, author));
    if (pairing?.state === "paired") return allowed;
    return { type: "refused", why: "not paired yet", notice: { text: pairingText(await codeFor(platform, author)) } };
  }

  /** The code that is open, or a new one when it has expired. */
  async function codeFor(platform: string, person: Author): Promise<string> {
    const id = pairingId(platform, person);
    const fresh = { platform, person, code: newCode(), expiresAt: now() + codeLastsMs };
    if (await ledger.create("pairing", id, { state: "open", body: fresh, group: platform })) return fresh.code;
    const renewed = await ledger.transition("pairing", id, ["open"], "open", (stored) =>
      now() >= stored.expiresAt ? fresh : stored,
    );
    return renewed?.body.code ?? fresh.code;
  }

  async function checkBot(visit: Visit, rule: AccessRules): Promise<AccessVerdict> {
    if (!rule.bots.includes(visit.author.id)) return { type: "refused", why: "bots are not answered" };
    const newest = await ledger.list("message", {
      group: visit.conversationId,
      order: "newest",
      limit: rule.botTurns,
    });
    const isLoop = newest.length >= rule.botTurns && newest.every((entry) => entry.body.author.isBot);
    return isLoop ? { type: "refused", why: `a bot has written ${rule.botTurns} times in a row` } : allowed;
  }

  function refused({ platform, author }: Visit, why: string): AccessVerdict {
    const key = pairingId(platform, author);
    const last = toldAt.get(key);
    if (last !== undefined && now() - last < noticeEveryMs) return { type: "refused", why };
    toldAt.delete(key);
    toldAt.set(key, now());
    const [oldest] = toldAt.keys();
    if (toldAt.size > remembered && oldest !== undefined) toldAt.delete(oldest);
    return { type: "refused", why, notice: { text: `I can't answer: ${why}.` } };
  }

  async function pair({ platform, by, rest }: InboundCommand): Promise<string> {
    const code = rest.trim().toUpperCase();
    const key = pairingId(platform, by);
    const tries = wrong.get(key);
    if (tries !== undefined && tries.count >= wrongCodes && now() - tries.since < noticeEveryMs)
      return "Too many wrong codes. Try again in an hour.";
    if (code === "")
      return "Write the code behind it: `/remora pair CODE`. It is shown in the other person's DM with me.";
    if (rules[platform]?.dms !== "pairing") return "Direct messages here need no pairing.";
    const open = await ledger.list("pairing", { states: ["open"], group: platform });
    const found = open.find(({ body }) => body.code === code && now() < body.expiresAt);
    if (found === undefined) {
      const isRecent = tries !== undefined && now() - tries.since < noticeEveryMs;
      wrong.set(key, { count: isRecent ? tries.count + 1 : 1, since: isRecent ? tries.since : now() });
      return "There is no such code, or it has expired. The other person gets a new one by writing to me again.";
    }
    if (found.body.person.id === by.id) return "Somebody else has to confirm your code.";
    const paired = await ledger.transition("pairing", found.id, ["open"], "paired", (stored) =>
      stored.code === code && now() < stored.expiresAt ? { ...stored, pairedBy: by } : undefined,
    );
    return paired === undefined
      ? "That code has just expired."
      : `${paired.body.person.name} may write to me directly from now on.`;
  }

  return {
    check,
    command: {
      usage: "pair CODE",
      description: "let the person to whom I showed this code write to me directly",
      run: pair,
    },
  };
}

function isListed(list: readonly string[] | null, id: string | undefined): boolean {
  return list === null || (id !== undefined && list.includes(id));
}

/** Whoever is listed by either; without lists everyone. */
function isPersonListed({ users, roles }: AccessRules, { id, roles: has }: Author): boolean {
  if (users === null && roles === null) return true;
  return users?.includes(id) === true || has.some((role) => roles?.includes(role) === true);
}

function pairingId(platform: string, { id }: Author): string {
  return `${platform}:${id}`;
}

function newCode(): string {
  return Array.from({ length: 8 }, () => letters[randomInt(letters.length)]).join("");
}

function pairingText(code: string): string {
  return `We have not been introduced. Ask somebody who may use me to write \`/remora pair ${code}\` within 15 minutes; then write to me again.`;
}
