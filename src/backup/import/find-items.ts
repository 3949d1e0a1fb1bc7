/**
 * Finds what can be taken over from another agent: its persona, its memory and its skills. Reads only; says why a file
 * is left where it is. The layouts (November 2026):
 *
 *   OpenClaw  https://docs.openclaw.ai/concepts/agent-workspace: AGENTS.md, SOUL.md, IDENTITY.md, USER.md, TOOLS.md,
 *             MEMORY.md, memory/YYYY-MM-DD.md and skills/ in ~/.openclaw/workspace; more skills in ~/.openclaw/skills
 *   Hermes    https://hermes-agent.nousresearch.com/docs/user-guide/which-file-does-what: SOUL.md, memories/MEMORY.md,
 *             memories/USER.md (entries separated by `§`), skills/<category>/<name>/SKILL.md in ~/.hermes
 *   Claude    https://docs.claude.com/en/docs/claude-code/memory: CLAUDE.md, .claude/CLAUDE.md, .claude/skills,
 *             projects/<project>/memory/*.md in ~/.claude; memories.json of claude.ai's data export
 */
import { existsSync } from "node:fs";
import { lstat, readdir, readFile, realpath } from "node:fs/promises";
import { basename, join, relative, sep } from "node:path";

export type ImportSource = "openclaw" | "hermes" | "claude";
export const importSources: readonly ImportSource[] = ["openclaw", "hermes", "claude"];
export const sourceNames: Record<ImportSource, string> = { openclaw: "OpenClaw", hermes: "Hermes", claude: "Claude" };

export type FoundItem =
  | { type: "persona" | "note"; path: string; title: string; text: string }
  | { type: "skill"; path: string }
  | { type: "skipped"; path: string; reason: string };

const maxTextBytes = 1024 * 1024;
const maxItems = 2_000;
const maxSkillDepth = 4;

const credentials = "it has credentials. Set them as described in docs/configuration.md";
/** Files that people may look for in the list. */
const known: Record<ImportSource, { [name: string]: string }> = {
  openclaw: {
    "openclaw.json": credentials,
    credentials,
    ".env": credentials,
    "HEARTBEAT.md": "Remora has schedules: ask it to remind you",
    "BOOTSTRAP.md": "it is only for OpenClaw's first start",
    agents: "sessions are not taken over",
  },
  hermes: {
    ".env": credentials,
    "auth.json": credentials,
    "config.yaml": "settings are not taken over",
    "state.db": "sessions are not taken over",
    cron: "ask Remora to schedule these tasks",
  },
  claude: {
    ".credentials.json": credentials,
    "settings.json": "settings are not taken over",
    "conversations.json": "conversations are not taken over",
  },
};

export async function findItems(source: ImportSource, folder: string): Promise<FoundItem[]> {
  const items = await { openclaw: findOpenClaw, hermes: findHermes, claude: findClaude }[source](folder);
  for (const [name, reason] of Object.entries(known[source]))
    if (existsSync(join(folder, name))) items.push({ type: "skipped", path: join(folder, name), reason });
  return items.slice(0, maxItems);
}

async function findOpenClaw(folder: string): Promise<FoundItem[]> {
  const inner = join(folder, "workspace");
  const workspace = existsSync(inner) ? inner : folder;
  const file = (name: string) => join(workspace, name);
  const days = await markdownIn(file("memory"));
  return [
    ...(await textItem("persona", file("SOUL.md"), "Soul")),
    ...(await textItem("persona", file("IDENTITY.md"), "Identity")),
    ...(await textItem("note", file("USER.md"), "The person")),
    ...(await textItem("note", file("AGENTS.md"), "Instructions")),
    ...(await textItem("note", file("TOOLS.md"), "Tools")),
    ...(await textItem("note", existsSync(file("MEMORY.md")) ? file("MEMORY.md") : file("memory.md"), "Memory")),
    ...(await Promise.all(days.map((path) => textItem("note", path, nameOf(path, file("memory")))))).flat(),
    ...(await skillsIn(file("skills"))),
    ...(workspace === folder ? [] : await skillsIn(join(folder, "skills"))),
  ];
}

async function findHermes(folder: string): Promise<FoundItem[]> {
  const memories = join(folder, "memories");
  const items = [
    ...(await textItem("persona", join(folder, "SOUL.md"), "Soul")),
    ...(await textItem("note", join(memories, "USER.md"), "The person")),
    ...(await textItem("note", join(memories, "MEMORY.md"), "Memory")),
    ...(await skillsIn(join(folder, "skills"))),
  ];
  return items.map((item) => (item.type === "note" ? { ...item, text: hermesEntries(item.text) } : item));
}

function hermesEntries(text: string): string {
  const entries = text.split(/\n§\n/).map((entry) => entry.trim());
  if (entries.length < 2) return text;
  return entries
    .filter((entry) => entry !== "")
    .map((entry) => `- ${entry.replaceAll("\n", "\n  ")}`)
    .join("\n");
}

async function findClaude(folder: string): Promise<FoundItem[]> {
  const projects = join(folder, "projects");
  const memories = (await foldersIn(projects)).map((project) => join(project, "memory"));
  const paths = (await Promise.all(memories.map(markdownIn))).flat();
  const hidden = join(folder, ".claude");
  return [
    ...(await textItem("note", join(folder, "CLAUDE.md"), "Instructions")),
    ...(await textItem("note", join(hidden, "CLAUDE.md"), "Instructions in .claude")),
    ...(await textItem("note", join(folder, "CLAUDE.local.md"), "Local instructions")),
    ...(await Promise.all(paths.map((path) => textItem("note", path, nameOf(path, projects))))).flat(),
    ...(await exportedMemories(join(folder, "memories.json"))),
    ...(await skillsIn(join(hidden, "skills"))),
    ...(await skillsIn(join(folder, "skills"))),
  ];
}

/** An array or one object of `{conversations_memory, project_memories: {ID: text}}`. */
async function exportedMemories(path: string): Promise<FoundItem[]> {
  const [item] = await textItem("note", path, "Memory");
  if (item?.type !== "note") return item === undefined ? [] : [item];
  try {
    const accounts = [JSON.parse(item.text)].flat() as { conversations_memory?: unknown; project_memories?: object }[];
    return accounts.flatMap(({ conversations_memory: memory, project_memories: projects = {} }) => [
      ...(typeof memory === "string" ? [{ ...item, text: memory }] : []),
      ...Object.entries(projects).flatMap(([id, text]) =>
        typeof text === "string" ? [{ ...item, title: `Project ${id.slice(0, 8)}`, text }] : [],
      ),
    ]);
  } catch {
    return [{ type: "skipped", path, reason: "it is not valid JSON" }];
  }
}

async function textItem(type: "persona" | "note", path: string, title: string): Promise<FoundItem[]> {
  const facts = await lstat(path).catch(() => undefined);
  if (facts === undefined) return [];
  const skipped = (reason: string): FoundItem[] => [{ type: "skipped", path, reason }];
  if (!facts.isFile()) return skipped("it is not a file");
  if (facts.size > maxTextBytes) return skipped("it has more than 1 MiB");
  const bytes = await readFile(path);
  const text = bytes
    .toString("utf8")
    .replace(/^\uFEFF/, "")
    .replaceAll("\r\n", "\n");
  if (bytes.includes(0) || text.includes("\ufffd")) return skipped("it is not text");
  return text.trim() === "" ? [] : [{ type, path, title, text }];
}

/** Below folders of categories too, but not in dot folders such as `.hub`, nor through links. */
async function skillsIn(folder: string, depth = 0): Promise<FoundItem[]> {
  if (depth > maxSkillDepth) return [];
  const found = await Promise.all(
    (await foldersIn(folder)).map(async (path): Promise<FoundItem[]> => {
      if (basename(path).startsWith(".")) return [];
      if (existsSync(join(path, "SKILL.md"))) return [{ type: "skill", path: await realpath(path) }];
      return await skillsIn(path, depth + 1);
    }),
  );
  return found.flat();
}

async function foldersIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(folder, name))
    .toSorted();
}

async function markdownIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(".md"))
    .map(({ name, parentPath }) => join(parentPath, name))
    .toSorted();
}

function nameOf(path: string, folder: string): string {
  return relative(folder, path)
    .replace(/\.md$/, "")
    .split(sep)
    .filter((part) => part !== "memory")
    .join(" ");
}
