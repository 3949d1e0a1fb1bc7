/**
 * What Allow on a card of changes covers: text that a person can read afterwards, in few enough files to name each. It says
 * what is covered, so whatever is not known to be harmless asks.
 */
import { maxShownFiles } from "../../ports/card.ts";
import type { DraftRecord } from "../../ports/draft.ts";
import type { Effect, Effects } from "../effects/effect.ts";
import type { RawPath } from "../effects/raw-path.ts";
import { autorunWarning } from "./autorun-files.ts";
import { isGitPath, readings } from "./git-folders.ts";
import { folderPhrase } from "./keep-draft.ts";
import { maxLostUnasked } from "./lost-files.ts";
import { namedEffects } from "./shown-changes.ts";

/** Kinds of files that programs read as something else than text, whatever bytes they begin with. */
const noTextEnding = new RegExp(
  "\\.(a|aab|apk|app|bin|bmp|bz2|cab|class|com|cpl|dat|db|deb|dex|dll|dmg|doc|docm|docx|drv|dylib|ear|egg|eot|exe|gif|gz|ico|img|ipa|iso|jar|" +
    "jpe?g|ko|lib|mdb|mo|mov|mp[34]|msi|node|o|obj|od[gpst]|ogg|otf|pack|pdf|pkg|pkl|pickle|png|pp[st]m?x?|py[cdo]|rar|rdb|rpm|rtf|scr|so|" +
    "so\\.[\\d.]+|sqlite3?|swf|sys|t[bgx]z2?|tar|tiff?|ttf|war|wasm|wav|webm|webp|whl|woff2?|xl[ast]m?x?|xz|zip|zst|7z)$",
);

/** Why people are asked about these changes whatever they have allowed, or undefined. */
export function uncoveredReason(effects: Effects, autorun: ReadonlySet<RawPath>): string | undefined {
  for (const effect of effects.effects) {
    const reason = reasonOf(effect, autorun);
    if (reason !== undefined) return `Such changes always ask: ${reason}.`;
  }
  if (namedEffects(effects).length > maxShownFiles) return `Changes to more than ${maxShownFiles} files always ask.`;
  return undefined;
}

/** What could be allowed in advance of what these changes do. */
export function grantRules(draft: DraftRecord, { effects }: Effects, autorun: ReadonlySet<RawPath>) {
  const covered = effects.filter((effect) => reasonOf(effect, autorun) === undefined);
  const where = folderPhrase(draft);
  const change = {
    pattern: `change code and text ${draft.folder}`,
    reason: `change plain code and text files in ${where}`,
  };
  const remove = {
    pattern: `delete code and text ${draft.folder}`,
    reason: `delete up to ${maxLostUnasked} plain code and text files in ${where}`,
  };
  return [
    ...(covered.some(({ action }) => action !== "deleted") ? [change] : []),
    ...(covered.some(({ action }) => action === "deleted") ? [remove] : []),
  ];
}

function reasonOf(effect: Effect, autorun: ReadonlySet<RawPath>): string | undefined {
  const { raw, path, action, type, previousType = type, notes, isBinary, linesAdded } = effect;
  const spelled = readings(raw);
  if (autorun.has(raw) && type !== "folder") return `${path} ${autorunWarning}`;
  if (spelled.some(isGitPath)) return `${path} belongs to git`;
  if (type === "link" || previousType === "link")
    return `${path} is ${type === "link" ? "a link" : "no longer a link"}`;
  if (type === "special" || type !== previousType) return `${path} becomes another kind of file`;
  if (notes.length > 0) return `${path} gets other permissions`;
  if (type === "folder") return undefined;
  if (isBinary || spelled.some((parts) => noTextEnding.test(parts.at(-1) ?? ""))) return `${path} is not text`;
  if (action === "changed" && linesAdded === undefined) return `${path} is too large to compare`;
  return undefined;
}
