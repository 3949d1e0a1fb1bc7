/**
 * Decides who may talk to the agent, by the same rules on every platform:
 *
 *   1. bots: only listed ones, and only a limited number of bot messages in a row, to end loops
 *   2. guests and people from other workspaces: only if enabled
 *   3. spaces, channels, people and roles: null means everyone, an empty list means nobody
 *   4. DMs: open, closed, or paired: somebody who already has access must confirm the code shown in the DM. Open to those who
 *      are in a listed space, or are listed themselves
 *
 * Tells a refused person the reason at most once an hour, but logs every refusal.
 */
import { randomInt } from "node:crypto";
import { elapsedSince } from "../lib/elapsed.ts";
import { createLruMap } from "../lib/lru-map.ts";
import type { Access, AccessVerdict, Visit } from "../ports/access.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { Author, InboundCommand } from "../ports/message.ts";

export interface AccessRules {
  users: readonly string[] | null;
  roles: readonly string[] | null;
  channels: readonly string[] | null;
  /** Discord guilds or Slack workspaces. */
  spaces: readonly string[] | null;
  dms: "open" | "pairing" | "closed";
  guests: boolean;
  externals: boolean;
  bots: readonly string[];
  /** Maximum number of consecutive bot messages to answer in one conversation. */
  botTurns: number;
}

export interface AccessOptions {
  /** A platform without rules is open to everyone. */
  rules: Readonly<Record<string, AccessRules>>;
  ledger: Ledger;
  isOwner(platform: string, person: Author): boolean;
  /** Undefined if the platform makes no difference. */
  isInSpace?(platform: string, person: Author, spaceId: string): Promise<boolean | undefined>;
  now?: () => number;
}

const notListed = "you are not on the list of people who may use me";
/** Also true of people whom the service does not describe. */
const takenForGuest = "as far as I can see you are a guest, and guests may not use me here";
const allowed: AccessVerdict = { type: "allowed" };
const minNoticeIntervalMs = 3_600_000;
const codeLifetimeMs = 15 * 60_000;
const codeLength = 8;
const maxWrongCodes = 5;
const maxRememberedPeople = 10_000;
/** Omits letters and digits that are easily confused. */
const codeLetters = "ABCDEFGHJKMNPQRSTUVWXYZ23456789";

export function createAccess({ rules, ledger, isOwner, isInSpace, now = Date.now }: AccessOptions): Access {
  const noticedAt = createLruMap<number>(maxRememberedPeople);
  const wrong = new Map<string, { count: number; since: number }>();

  async function check(visit: Visit): Promise<AccessVerdict> {
    const { platform, author } = visit;
    const rule = rules[platform];
    if (rule === undefined) return allowed;
    if (author.isBot) return await checkBot(visit, rule);
    if (isOwner(platform, author)) return allowed;
    if (author.kind === "guest" && !rule.guests) return refused(visit, takenForGuest);
    if (author.kind === "external" && !rule.externals)
      return refused(visit, "people from other workspaces may not use me here");
    if (visit.isDirect) return await checkDirect(visit, rule);
    if (!isListed(rule.spaces, visit.spaceId)) return refused(visit, "this server or workspace may not use me");
    if (!isListed(rule.channels, visit.channelId)) return refused(visit, "this channel may not use me");
    return isPersonListed(rule, author) ? allowed : refused(visit, notListed);
  }

  async function checkDirect(visit: Visit, rule: AccessRules): Promise<AccessVerdict> {
    const { platform, author } = visit;
    if (rule.dms === "closed") return refused(visit, "direct messages to me are closed");
    const isNamed = rule.users?.includes(author.id) === true;
    if (rule.dms === "open") {
      if (!isPersonListed(rule, author)) return refused(visit, notListed);
      if (isNamed || (await isInListedSpace(platform, author, rule))) return allowed;
      return refused(visit, "you are in no server or workspace that may use me");
    }
    if (isNamed) return allowed;
    const pairing = await ledger.get("pairing", pairingId(platform, author));
    if (pairing?.state === "paired") return allowed;
    return { type: "refused", why: "not paired yet", notice: { text: pairingText(await codeFor(platform, author)) } };
  }

  /** A direct message belongs to no space. Anybody can share one with the agent, such as a server of their own. */
  async function isInListedSpace(platform: string, author: Author, { spaces }: AccessRules): Promise<boolean> {
    if (spaces === null) return true;
    const found = await Promise.all(spaces.map(async (id) => (await isInSpace?.(platform, author, id)) ?? true));
    return found.includes(true);
  }

  async function codeFor(platform: string, person: Author): Promise<string> {
    const id = pairingId(platform, person);
    const fresh = { platform, person, code: newCode(), expiresAt: now() + codeLifetimeMs };
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
    const last = noticedAt.get(key);
    if (last !== undefined && elapsedSince(last, now()) < minNoticeIntervalMs) return { type: "refused", why };
    noticedAt.set(key, now());
    return { type: "refused", why, notice: { text: `I can't answer: ${why}.` } };
  }

  function triesOf(key: string): { count: number; since: number } {
    const known = wrong.get(key);
    return known === undefined || elapsedSince(known.since, now()) >= minNoticeIntervalMs
      ? { count: 0, since: now() }
      : known;
  }

  async function pair({ platform, by, rest }: InboundCommand): Promise<string> {
    const code = rest.trim().toUpperCase();
    const key = pairingId(platform, by);
    if (triesOf(key).count >= maxWrongCodes) return "Too many wrong codes. Try again in an hour.";
    if (code === "") return "Add the code: `/remora pair CODE`. The other person sees it in their DM with me.";
    if (rules[platform]?.dms !== "pairing") return "Direct messages need no pairing here.";
    // Counts before it looks, so that many guesses at once count too.
    const { since, count } = triesOf(key);
    wrong.set(key, { since, count: count + 1 });
    const open = await ledger.list("pairing", { states: ["open"], group: platform });
    const found = open.find(({ body }) => body.code === code && now() < body.expiresAt);
    if (found === undefined)
      return "There is no such code, or it has expired. The other person can get a new one by writing to me again.";
    wrong.set(key, { since, count: Math.max(0, triesOf(key).count - 1) });
    if (found.body.person.id === by.id) return "Somebody else must confirm your code.";
    const paired = await ledger.transition("pairing", found.id, ["open"], "paired", (stored) =>
      stored.code === code && now() < stored.expiresAt ? { ...stored, pairedBy: by } : undefined,
    );
    return paired === undefined
      ? "That code has just expired."
      : `${paired.body.person.name} may write to me directly now.`;
  }

  return {
    check,
    command: {
      usage: "pair CODE",
      description: "let the person with this code write to me directly",
      run: pair,
    },
  };
}

function isListed(list: readonly string[] | null, id: string | undefined): boolean {
  return list === null || (id !== undefined && list.includes(id));
}

/** Allows people on either list, or everyone if there are no lists. */
function isPersonListed({ users, roles }: AccessRules, { id, roles: has }: Author): boolean {
  if (users === null && roles === null) return true;
  return users?.includes(id) === true || has.some((role) => roles?.includes(role) === true);
}

function pairingId(platform: string, { id }: Author): string {
  return `${platform}:${id}`;
}

function newCode(): string {
  return Array.from({ length: codeLength }, () => codeLetters[randomInt(codeLetters.length)]).join("");
}

function pairingText(code: string): string {
  return `I don't know you yet. Ask somebody who may use me to send \`/remora pair ${code}\` within 15 minutes. Then write to me again.`;
}
