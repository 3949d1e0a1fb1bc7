/**
 * `remora import` takes over persona, memory and skills of another agent. It shows first what becomes what, and changes
 * nothing without `--apply`, which takes the memory's lock. It never overwrites, so it can be repeated. Notes keep an origin: cards say when a call
 * follows their text. Secrets in notes are replaced; a skill with one is left out.
 */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";
import {
  type FoundItem,
  findItems,
  type ImportSource,
  importSources,
  sourceNames,
} from "../backup/import/find-items.ts";
import type { Environment } from "../config/environment.ts";
import type { Settings } from "../config/settings.ts";
import { writeFileAtomic } from "../lib/atomic-write.ts";
import { messageOf, RemoraError } from "../lib/errors.ts";
import { createFileOrder, type FileOrder } from "../lib/file-order.ts";
import { createRedactor, type Redact } from "../lib/redact.ts";
import { asPlain, oneLine } from "../lib/text/sanitize.ts";
import { createKnowledge, type Knowledge } from "../memory/knowledge.ts";
import type { MemoryScope } from "../ports/message.ts";
import { originOf } from "../ports/origin.ts";
import type { Skill } from "../ports/skill.ts";
import { loadSkills } from "../skill-runtime/library/load.ts";
import { hasUnseen } from "../skill-runtime/parse/text.ts";
import { lockMemory } from "./memory-lock.ts";
import { settingsFor, skillRootsOf } from "./settings.ts";
import { copySkill } from "./skills-copy.ts";
import { mustBeSeen } from "./skills-facts.ts";

export interface ImportFlags {
  apply?: boolean;
  scope?: string;
}

/** What happens to one item. Without `apply`, it stays where it is. */
interface Planned {
  from: string;
  result: string;
  hint?: string;
  apply?: () => Promise<void>;
}

const maxPersonaCharacters = 8_000;
const maxTitleCharacters = 60;
const maxPreviewCharacters = 100;

export async function importCommand(
  env: Environment,
  root: string,
  written: string,
  path: string,
  flags: ImportFlags,
): Promise<void> {
  const source = importSources.find((name) => name === written);
  if (source === undefined)
    throw failure("source", written, `can't be imported. Use one of ${importSources.join(", ")}`);
  const folder = resolve(path);
  if (!existsSync(folder)) throw failure("missing", folder, "does not exist");
  const settings = settingsFor(env, root);
  const items = await findItems(source, folder);
  if (items.length === 0)
    throw failure(
      "empty",
      folder,
      `has no persona, memory or skills of ${sourceNames[source]}. Name the folder that has them`,
    );
  await mkdir(join(settings.workspace, "skills"), { recursive: true });
  const scope = readScope(items, flags);
  const lock = flags.apply ? await lockMemory(settings) : undefined;
  const inOrder = lock?.inOrder ?? createFileOrder(settings.workspace);
  const aside = await mkdtemp(join(settings.workspace, ".import-"));
  try {
    const plans = await planItems({ items, source, settings, inOrder, aside, scope });
    const lines = plans.flatMap(({ from, result, hint }) => [
      asPlain(`${relative(folder, from) || basename(from)}: ${result}`),
      ...(hint === undefined ? [] : [`    ${asPlain(hint)}`]),
    ]);
    process.stdout.write(`${lines.join("\n")}\n\n`);
    const changes = plans.flatMap(({ apply }) => apply ?? []);
    if (flags.apply) for (const apply of changes) await apply();
    process.stdout.write(closingLine(changes.length, flags));
  } finally {
    await rm(aside, { recursive: true, force: true });
    await lock?.close();
  }
}

function closingLine(count: number, { apply }: ImportFlags): string {
  if (count === 0) return "There is nothing to import.\n";
  const what = count === 1 ? "1 thing" : `${count} things`;
  return apply
    ? `Imported ${what}. It applies from the next message on.\n`
    : `Nothing was changed. To import ${what}, add --apply.\n`;
}

/** Notes of `shared` can be read in every conversation, so somebody must have said so. */
function readScope(items: FoundItem[], { apply, scope }: ImportFlags): MemoryScope {
  if (scope !== undefined && !/^(?:shared|(?:dm|channel):.+)$/.test(scope))
    throw failure("scope", scope, "is not a scope. Use shared, dm:USER or channel:ID");
  if (scope === undefined && apply && items.some(({ type }) => type === "note"))
    throw failure(
      "scope",
      "import",
      "say who may read the imported notes: --scope shared (everybody, in every conversation) or --scope dm:USER (one person)",
    );
  return (scope ?? "shared") as MemoryScope;
}

interface Place {
  items: FoundItem[];
  source: ImportSource;
  settings: Settings;
  inOrder: FileOrder;
  scope: MemoryScope;
  aside: string;
}

async function planItems({ items, source, settings, inOrder, scope, aside }: Place): Promise<Planned[]> {
  const redact = createRedactor(settings.secrets.map(({ value }) => value));
  const knowledge = createKnowledge({ workspace: settings.workspace, inOrder, redact });
  const plans: Planned[] = [];
  const present = (await loadSkills(skillRootsOf(settings))).skills;
  for (const item of items) {
    if (item.type === "skipped") plans.push({ from: item.path, result: `not imported: ${item.reason}` });
    else if (item.type === "persona") plans.push(await planPersona(item, source, settings, redact));
    else if (item.type === "note") plans.push(await planNote(item, source, scope, knowledge, redact));
    else plans.push(await planSkill(item.path, settings, aside, present, redact));
  }
  return plans;
}

type TextItem = FoundItem & { type: "persona" | "note" };

async function planPersona(
  { path, title, text }: TextItem,
  source: ImportSource,
  { workspace }: Settings,
  redact: Redact,
): Promise<Planned> {
  const file = join("brain", "identity", `${source}-${title.toLowerCase()}.md`);
  const skip = (reason: string) => ({ from: path, result: `not imported: ${reason}` });
  if (existsSync(join(workspace, file))) return skip(`${file} exists already`);
  if (text.length > maxPersonaCharacters)
    return skip(
      `it has more than ${maxPersonaCharacters} characters, and a persona is part of every prompt. Shorten it first`,
    );
  if (hasUnseen(text)) return skip("it has invisible characters, which could hide instructions");
  if (redact(text) !== text) return skip("it has a secret");
  return {
    from: path,
    result: `persona, to ${file}`,
    hint: "Read it first: it becomes part of every prompt, beside brain/identity/soul.md.",
    apply: () =>
      writeFileAtomic(join(workspace, file), `<!-- Imported from ${sourceNames[source]}. -->\n\n${text.trim()}\n`),
  };
}

async function planNote(
  { path, title, text }: TextItem,
  source: ImportSource,
  scope: MemoryScope,
  knowledge: Knowledge,
  redact: Redact,
): Promise<Planned> {
  const name = oneLine(`${sourceNames[source]} ${title}`, maxTitleCharacters);
  if ((await knowledge.read(scope, name)) !== undefined)
    return { from: path, result: `not imported: the note “${name}” exists already` };
  const secrets = redact(text) === text ? "" : ", without the secrets in it";
  return {
    from: path,
    result: `note “${name}” in ${scope}${secrets}`,
    hint: oneLine(redact(text), maxPreviewCharacters),
    apply: async () => {
      const origin = originOf("file", `${basename(path)} of ${sourceNames[source]}`);
      await knowledge.write(scope, name, text, [origin]);
    },
  };
}

/** Loads a copy, because the copy is what the agent would use. Runs none of its code. */
async function planSkill(
  from: string,
  settings: Settings,
  aside: string,
  present: Skill[],
  redact: Redact,
): Promise<Planned> {
  const skip = (reason: string) => ({ from, result: `not imported: ${reason}` });
  const name =
    basename(from)
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-+|-+$/g, "") || "skill";
  const [copy, folder] = [join(aside, name), join(settings.workspace, "skills", name)];
  if (existsSync(folder) || existsSync(copy)) return skip(`there is a skill in the folder ${name} already`);
  try {
    await copySkill(from, copy);
  } catch (thrown) {
    await rm(copy, { recursive: true, force: true });
    return skip(messageOf(thrown).replace(/^\[.*?\] /, ""));
  }
  const set = await loadSkills([copy]);
  const skill = set.skills.find((one) => one.folder === copy);
  const remove = async (reason: string) => {
    await rm(copy, { recursive: true, force: true });
    return skip(reason);
  };
  if (skill === undefined)
    return await remove(`it can't be loaded: ${set.diagnostics.map(({ message }) => message).join("; ")}`);
  const tools = new Set(skill.tools.map((tool) => tool.name));
  const clash = present.find((one) => one.name === skill.name || one.tools.some((tool) => tools.has(tool.name)));
  if (clash !== undefined) return await remove(`the skill ${clash.name} has the same name or tool`);
  if (await hasSecret(copy, redact)) return await remove("it has a secret");
  const seen = mustBeSeen({ skill, files: [], diagnostics: [], replaces: [] });
  if (skill.plugin !== null || seen.length > 0)
    return await remove(`a person must read what it declares. Use: npm run -s remora -- skills add ${from}`);
  present.push(skill);
  return {
    from,
    result: `skill ${skill.name}, to skills/${name}`,
    hint: oneLine(skill.description, maxPreviewCharacters),
    apply: () => rename(copy, folder),
  };
}

async function hasSecret(folder: string, redact: Redact): Promise<boolean> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  for (const entry of entries.filter((one) => one.isFile())) {
    if (/^\.env(?:\.|$)/.test(entry.name)) return true;
    const text = await readFile(join(entry.parentPath, entry.name), "utf8");
    if (redact(text) !== text) return true;
  }
  return false;
}

function failure(code: string, place: string, message: string): RemoraError {
  return new RemoraError({ code: `import.${code}`, place, message: `${message}.` });
}
