/**
 * Keeps the active skills up to date with their files. `reload` builds a new set and keeps the old one if that fails.
 * Each change is announced once: in the log, as an event, and to the listeners. A broken file keeps its previous
 * content, with a diagnostic. The skill of a deleted file is removed.
 */
import { realpath } from "node:fs/promises";
import { type FSWatcher, watch } from "chokidar";
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { SkillBrief } from "../../ports/context.ts";
import type { Events } from "../../ports/events.ts";
import type { GateRule, GateRules } from "../../ports/gate.ts";
import type { Skill, SkillDiagnostic, SkillSet } from "../../ports/skill.ts";
import type { ToolSpec } from "../../ports/tool.ts";
import { nameInPrompts } from "../../ports/tool-offer.ts";
import { describeDiagnostic } from "../parse/diagnostics.ts";
import { offeredToolMark } from "../parse/patterns.ts";
import { createDynamicTools, type ValidOffer } from "../plugins/dynamic-tools.ts";
import { loadSkills } from "./load.ts";
import { loadSkillSpec } from "./load-skill.ts";

export interface SkillLibraryOptions {
  /** Later roots override earlier ones. */
  roots: string[];
  /** With links resolved, asked at each load. See `findSkills`. */
  workingFolders?(): readonly string[];
  log: Log;
  events: Events;
}

export interface SkillLibrary {
  /** Empty until the first `reload` resolves. A set is never changed in place. */
  current(): SkillSet;
  /** Resolves with a set read after the call, even during another reload. Never rejects. */
  reload(): Promise<SkillSet>;
  watch(): Promise<void>;
  /** Adds tools to the skill whose SKILL.md is at `path`, or stores them until that skill appears. */
  offer(path: string, source: string, offer: Partial<ValidOffer>): void;
  onChange(listener: (set: SkillSet) => void): () => void;
  close(): Promise<void>;
}

/** Editors write a file in several steps, so a reload waits this long after the last change. */
const quietMs = 100;
/** Levels below the roots: four levels of folders, the skill's own folder, and its plugin folder. */
const maxWatchedDepth = 6;

export function createSkillLibrary({ roots, workingFolders, log, events }: SkillLibraryOptions): SkillLibrary {
  const lastGood = new Map<string, Skill>();
  const listeners = new Set<(set: SkillSet) => void>();
  const offers = createDynamicTools();
  let files: SkillSet = { skills: [], diagnostics: [] };
  let current = files;
  let loading: Promise<unknown> = Promise.resolve();
  let watcher: FSWatcher | undefined;
  let timer: NodeJS.Timeout | undefined;

  const putInForce = (set: SkillSet) => {
    const before = current;
    current = offers.merge(set);
    files = set;
    announce(before, current, { log, events });
    for (const listener of listeners) tell(listener, current, log);
  };
  const load = async () => {
    try {
      putInForce(await loadSkills(roots, { lastGood, workingFolders: workingFolders?.() ?? [] }));
    } catch (thrown) {
      log.error({ error: messageOf(thrown) }, "could not reload the skills; the old ones stay in force");
    }
    return current;
  };
  const reload = () => {
    const result = loading.then(load);
    loading = result;
    return result;
  };
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(reload, quietMs);
  };

  return {
    current: () => current,
    reload,
    async watch() {
      watcher ??= await startWatching(roots, soon, log);
    },
    offer(path, source, offer) {
      if (offers.set(path, source, offer)) putInForce(files);
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async close() {
      await watcher?.close();
      clearTimeout(timer);
      listeners.clear();
      await loading;
    },
  };
}

function tell(listener: (set: SkillSet) => void, set: SkillSet, log: Log): void {
  try {
    listener(set);
  } catch (thrown) {
    log.error({ error: messageOf(thrown) }, "a listener failed on the new skills");
  }
}

async function startWatching(roots: string[], onChange: () => void, log: Log): Promise<FSWatcher> {
  // Resolve linked roots first. The watcher does not follow links, because one may lead to /.
  const folders = await Promise.all(roots.map((root) => realpath(root).catch(() => root)));
  const watcher = watch(folders, {
    ignoreInitial: true,
    followSymlinks: false,
    depth: maxWatchedDepth,
    ignored: /[/\\](?:node_modules|\.git)(?:[/\\]|$)/,
  });
  watcher.on("all", onChange);
  watcher.on("error", (thrown) => {
    log.warn({ error: messageOf(thrown) }, "can't watch a folder of skills: changes there take effect after a restart");
  });
  await new Promise<void>((resolve) => watcher.once("ready", () => resolve()));
  return watcher;
}

function announce(
  before: SkillSet,
  next: SkillSet,
  { log, events }: Pick<SkillLibraryOptions, "log" | "events">,
): void {
  const old = new Set(before.skills);
  const fresh = next.skills.filter((skill) => !old.has(skill));
  for (const { name: skill, path } of fresh) events.emit("skill.loaded", { skill, path });
  const diagnosticKey = (diagnostic: SkillDiagnostic) => `${diagnostic.code} ${describeDiagnostic(diagnostic)}`;
  const said = new Set(before.diagnostics.map(diagnosticKey));
  for (const diagnostic of next.diagnostics.filter((one) => !said.has(diagnosticKey(one)))) {
    const { path, line, code, message, severity } = diagnostic;
    log.warn({ path, line, code, severity }, `skill: ${message}`);
    if (severity === "error") events.emit("skill.rejected", { path, code, message });
  }
  const paths = new Set(next.skills.map(({ path }) => path));
  const gone = before.skills.filter(({ path }) => !paths.has(path)).map(({ name }) => name);
  // The first set is not a change. The caller reports how many skills it contains.
  if (fresh.length + gone.length === 0 || before.skills.length === 0) return;
  log.info({ skills: next.skills.length, changed: fresh.length, gone }, "the skills in force have changed");
}

/** Expands `{offered_tool}` to one pattern per offered tool so that a grant for one tool does not cover the others. */
export function gateRules({ skills }: SkillSet): GateRules {
  const shellParameters = new Map<string, readonly string[]>();
  for (const tool of skills.flatMap((skill) => skill.tools)) {
    if (tool.shellParameters.length === 0) continue;
    // Two tools with one name may each be active in some conversation, so both lists apply.
    const others = shellParameters.get(tool.name) ?? [];
    shellParameters.set(tool.name, [...new Set([...others, ...tool.shellParameters])]);
  }
  return {
    rules: skills.flatMap((skill) => [
      ...skill.rules.flatMap((rule) => inForce(rule, skill)),
      ...rulesForRenamed(skill),
    ]),
    shellParameters,
    builtInReaders: new Set([loadSkillSpec].filter(({ isReadOnly }) => isReadOnly).map(({ name }) => name)),
  };
}

function inForce(rule: GateRule, { providesTools, offered }: Skill): GateRule[] {
  if (!providesTools || !rule.pattern.includes(offeredToolMark)) return [rule];
  const names = (rule.kind === "danger" ? offered?.ever : offered?.asking) ?? [];
  // Names need no escaping, because letters, digits, _ and - are literal in a pattern.
  return names.map((name) => {
    const pattern = rule.pattern.replaceAll(offeredToolMark, name);
    const reason = rule.reason?.replaceAll(offeredToolMark, name);
    return { ...rule, pattern, ...(reason === undefined ? {} : { reason }) };
  });
}

/** A tool whose name providers refuse is renamed. Patterns that use the old name must match the new name too. */
function rulesForRenamed({ rules, renamedTools, offered }: Skill): GateRule[] {
  const ofFile = Object.entries(renamedTools).filter(([name]) => offered?.current.includes(name) !== true);
  return ofFile.flatMap(([name, written]) =>
    rules.flatMap((rule) => {
      const escaped = written.replace(/[^\w\s]/g, "\\$&");
      const pattern = rule.pattern.replaceAll(escaped, name).replaceAll(written, name);
      return pattern === rule.pattern ? [] : [{ ...rule, pattern }];
    }),
  );
}

export function briefs({ skills }: SkillSet): SkillBrief[] {
  return skills.map(({ name, description, triggers, tools, providesTools, body }) => {
    return { name, description, triggers, isCapability: tools.length > 0 || providesTools, body };
  });
}

/**
 * Returns a fingerprint of the skill that owns the tool: if it changes, earlier approvals become invalid. For an
 * offered tool, only its own description counts, because other offered tools appear and disappear with their servers.
 */
export function contentOf({ skills }: SkillSet, tool: string): string | undefined {
  const owner = skills.findLast((skill) => skill.tools.some((spec) => spec.name === tool));
  if (owner === undefined) return undefined;
  const { path, version, tools, rules, offered, renamedTools } = owner;
  const isOffered = (name: string) => offered?.current.includes(name) === true;
  // The words on a card don't change what the tool does.
  const withoutWords = ({ ask: _ask, phrases: _phrases, ...spec }: ToolSpec) => spec;
  return isOffered(tool)
    ? JSON.stringify([path, version, tools.find(({ name }) => name === tool), renamedTools[tool], rules])
    : JSON.stringify([path, version, tools.filter(({ name }) => !isOffered(name)).map(withoutWords), rules]);
}

/** The words that a card uses for a call of the tool, if its SKILL.md says any. */
export function askTemplateOf({ skills }: SkillSet, tool: string): string | undefined {
  return skills.flatMap(({ tools }) => tools).findLast(({ name }) => name === tool)?.ask;
}

/** A tool's name in records that later prompts repeat. One that a program has chosen itself is replaced by the program's. */
export function recordedName({ skills }: SkillSet, tool: string): string {
  const owner = skills.find(({ offered }) => offered?.ever.includes(tool) === true);
  const spec = owner?.tools.find(({ name }) => name === tool);
  if (owner === undefined) return tool;
  return spec === undefined ? owner.name : nameInPrompts(spec);
}

export function countSkills({ skills, diagnostics }: SkillSet): { loaded: number; withProblems: number } {
  return { loaded: skills.length, withProblems: new Set(diagnostics.map(({ path }) => path)).size };
}
