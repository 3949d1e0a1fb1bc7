/**
 * Whether a tool that the operator trusts only reads. It may then also run after its own server's text, so in doubt it does not:
 *
 *   1. the server's hints: `readOnlyHint: false` and `destructiveHint: true` say no
 *   2. the name: a verb of changing says no, whatever the hints say, because some servers hint the same about all tools
 *   3. `readOnlyHint: true`, or a name that says reading (`get_mail`, `issues-search`)
 *
 * A server that lies could do its harm without being called. What this keeps out is a change that others' text asks for.
 */
import { z } from "zod";
import type { ListedTool } from "./session.ts";

const hints = z.looseObject({ readOnlyHint: z.unknown().optional(), destructiveHint: z.unknown().optional() });

const reading = new Set(
  "count describe fetch find get grep head inspect list look lookup peek read retrieve search show tail view".split(
    " ",
  ),
);
const readingNouns = new Set(
  "diff help history info logs ping schema stat stats status tree version whoami".split(" "),
);
/** Verbs that are hardly ever nouns in a tool's name. */
const changing = new Set(
  `add append apply approve assign attach authorize ban buy cancel clear click close configure connect create deactivate delete deny
  deploy destroy disable disconnect dismiss drop edit enable enqueue erase evaluate exec execute fill follow grant import insert
  install invite invoke kick kill launch mark modify move mute notify overwrite patch pay press publish purchase purge push put
  rebase refund register reject remove rename reopen replace reset restart restore resume retry revoke rotate save send set
  shutdown snooze spend submit subscribe sync terminate toggle transfer trash uninstall unsubscribe update upload upsert
  withdraw write`.split(/\s+/),
);
/** Verbs that are also nouns: `get_comment` reads, `comment_issue` does not. */
const perhapsChanging = new Set(
  `archive block book call change comment commit copy draft email flag fork forward label link lock merge message open order pin
  post pull react reply report request run schedule share sign star start stop store tag test track trigger type vote`.split(
    /\s+/,
  ),
);
const joining = new Set(["and", "or", "then"]);

export function onlyReads({ name, annotations }: Pick<ListedTool, "name" | "annotations">): boolean {
  const { readOnlyHint, destructiveHint } = hints.safeParse(annotations).data ?? {};
  if (readOnlyHint !== undefined && readOnlyHint !== true) return false;
  if (destructiveHint === true) return false;
  const said = meaningOf(name);
  return said !== "changes" && (readOnlyHint === true || said === "reads");
}

function meaningOf(name: string): "reads" | "changes" | "unclear" {
  const words =
    name
      .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
      .toLowerCase()
      .match(/[a-z]+/g) ?? [];
  const has = (known: ReadonlySet<string>) => words.some((word) => known.has(word));
  if (has(changing)) return "changes";
  if (!has(reading)) return has(perhapsChanging) ? "changes" : has(readingNouns) ? "reads" : "unclear";
  // After a verb that comes first, other words are what it reads.
  const isPlain = reading.has(words[0] ?? "") || !has(perhapsChanging);
  return isPlain && !has(joining) ? "reads" : "unclear";
}
