/** Finds the tool that a model means by another name, and says which there are if there is none. */
import { closestNames } from "../lib/closest-name.ts";
import type { ToolSpec } from "../ports/tool.ts";
import { loadSkillName, nameInPrompts, toolsNamed, useToolName } from "../ports/tool-offer.ts";

/** `other` is true for a name of another agent's tool: the call runs only if its arguments fit this one, too. */
export interface MeantTool {
  tool: ToolSpec;
  isAlias: boolean;
}

/** What models write before a tool's name, besides its skill: namespaces of templates and services. */
const namespaces: ReadonlySet<string> = new Set("functions function tools tool defaultapi mcp remora".split(" "));

/** First our tool, then what other agents call one that does the same with the same arguments, written as `plain` does. */
const otherNames = new Map(
  [
    "readfile read cat view viewfile openfile getfile readtextfile",
    "writefile write createfile savefile writetofile",
    "editfile edit replaceinfile strreplace searchreplace",
    "listfolder ls list listdir listdirectory listfiles",
    "searchfiles grep glob findfiles grepsearch filesearch searchfilecontent",
    "webfetch fetch fetchurl fetchpage fetchwebpage openurl readurl visit",
    "websearch searchweb google googlesearch internetsearch googlewebsearch",
    "remember savememory storememory addmemory creatememory memorysave savenote addnote memorize",
    "recall searchmemory memorysearch searchmemories retrievememory readmemory",
    "scheduleadd setreminder addreminder createreminder remind remindme scheduletask",
    "loadskill skill readskill useskill openskill",
  ].flatMap((line) => {
    const [own = "", ...others] = line.split(" ");
    return others.map((other) => [other, own] as const);
  }),
);

/** Of the one tool that takes shell commands. */
const shellNames: ReadonlySet<string> = new Set(
  (
    "bash shell sh terminal exec execute run command cmd executecommand execcommand runcommand runshellcommand shellcommand " +
    "bashcommand executebash runbash executeshell executeshellcommand runterminalcmd runterminalcommand runinterminal localshell"
  ).split(" "),
);
/** Their code is no shell command. */
const interpreterNames = /^(?:run|execute)?(?:python3?|node|javascript|code(?:interpreter|execution)?|jupyter)$/;
/** Calls with which models of some templates answer. */
const answerNames = /^(?:final)?(?:answer|response|reply|respond|finish|done)$/;

/** Names of tools have 64 characters at most, and those of programs are not much longer. */
const maxNameCharacters = 200;

/** Undefined if no tool, or more than one, can be meant. */
export function meantTool(name: string, tools: readonly ToolSpec[]): MeantTool | undefined {
  const exact = tools.find((tool) => tool.name === name);
  if (exact !== undefined) return { tool: exact, isAlias: false };
  if (name.length > maxNameCharacters) return undefined;
  const written = withoutTail(name);
  const same = onlyOne(tools.filter((tool) => isSpelled(written, tool)));
  if (same !== undefined) return { tool: same, isAlias: false };
  const own = otherNames.get(plain(written));
  const alias = shellNames.has(plain(written))
    ? onlyOne(tools.filter(({ shellParameters }) => shellParameters.includes("command")))
    : onlyOne(tools.filter((tool) => tool.offeredBy === undefined && plain(tool.name) === own));
  return alias === undefined ? undefined : { tool: alias, isAlias: true };
}

/** The tool that runs others, and what models that know it elsewhere call it. */
const wrapperNames: readonly string[] = [useToolName, "call_tool", "run_tool", "invoke_tool"];

/** True for `useTool` or `functions.call_tool`. */
export function isUseTool(name: string): boolean {
  const written = withoutTail(name);
  return (
    name.length <= maxNameCharacters && wrapperNames.some((one) => isSpelled(written, { name: one, skill: "remora" }))
  );
}

function onlyOne<T>(found: readonly T[]): T | undefined {
  return found.length === 1 ? found[0] : undefined;
}

/** What servers leave at the end of a name: `read_file:0`, `read_file<|channel|>commentary`, `read_file()`. */
function withoutTail(name: string): string {
  return name.trim().replace(/(?:<\|.*|\(\s*\)?|:\d+)$/s, "");
}

/** In other letters and separators, also after its skill, its program or a namespace. */
function isSpelled(name: string, tool: Pick<ToolSpec, "name" | "skill" | "offeredBy">): boolean {
  const own = plain(tool.name);
  if (plain(name) === own || plain(name) === `${own}tool`) return true;
  const spaces = new Set([...namespaces, plain(tool.skill), plain(tool.offeredBy ?? tool.skill)]);
  const parts = name.split(/[./:]+|__/).filter((part) => part !== "");
  return parts.some(
    (_part, index) =>
      index > 0 &&
      plain(parts.slice(index).join("_")) === own &&
      parts.slice(0, index).every((part) => spaces.has(plain(part))),
  );
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\d]/gu, "");
}

const maxClosest = 3;

/** Says what to call instead. Names only what prompts name. */
export function unknownToolProblem(name: string, tools: readonly ToolSpec[]): string {
  const wrong = `Not run: there is no tool ${shownName(name)}.`;
  const names = [...new Set(tools.map(nameInPrompts))];
  if (names.length === 0) return `${wrong} No tools can be used now; answer in text.`;
  const written = plain(withoutTail(name));
  const skill = tools.find((tool) => tool.skill !== "remora" && plain(tool.skill) === written)?.skill;
  if (skill !== undefined) return `${wrong} ${skill} is a skill: ${loading(skill)}`;
  const [program] = toolsNamed(name.trim(), tools);
  if (program !== undefined) return `${wrong} It is a program: ${loading(name.trim())}`;
  const all = `The tools are: ${names.join(", ")}.`;
  if (answerNames.test(written)) return `${wrong} To answer, write text without a call. ${all}`;
  const shell = tools.find(({ shellParameters }) => shellParameters.includes("command"));
  if (interpreterNames.test(written) && shell !== undefined)
    return `${wrong} To run code, call ${shell.name} with {"command": the shell command that runs it}.`;
  const close = closestNames(withoutTail(name), names, maxClosest);
  return close.length === 0 ? `${wrong} ${all}` : `${wrong} Closest: ${close.join(", ")}. ${all}`;
}

function loading(name: string): string {
  return `call ${loadSkillName} with ${JSON.stringify({ name })} to read its tools, then call one of them.`;
}

export function shownName(name: string): string {
  return JSON.stringify(name.slice(0, 100));
}
