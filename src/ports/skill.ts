/** A skill as it was read from its `SKILL.md`, and what was found wrong while reading. Data only: loading runs no code. */
import type { GateRule } from "./gate.ts";
import type { JsonObject } from "./message.ts";
import type { ToolSpec } from "./tool.ts";

export type SkillVerdict = "accept" | "warn" | "skip";

export interface SkillDiagnostic {
  /** Path of the SKILL.md, or of the folder if it has none. */
  path: string;
  /** 1-based; 0 if the problem is not in a single line. */
  line: number;
  severity: "warning" | "error";
  /** Permanent, e.g. `skill.unclosed-frontmatter`. */
  code: string;
  message: string;
}

/** A call with the verdict that the skill's author expects; `remora skills check` runs them. */
export interface GateTest {
  tool: string;
  args: JsonObject;
  want: "block" | "confirm" | "safe";
  line: number;
}

/**
 * Names of tools that the plugin offers. Rules still apply to a tool that is no longer offered, because it may return while a
 * call waits.
 */
export interface OfferedNames {
  current: string[];
  /** All names that were ever offered. Danger patterns with `{offered_tool}` apply to each of them. */
  ever: string[];
  /** The names in `ever` to which confirm patterns with `{offered_tool}` apply: all except trusted tools. */
  asking: string[];
}

export interface SkillPermissions {
  files: "none" | "read" | "write";
  /** Hosts, in the syntax of a shell call. */
  network: string[];
  env: string[];
  /** Whether the plugin may start other programs, which then run in its own sandbox. */
  commands: boolean;
  services: ("memory" | "chat" | "schedules")[];
}

export interface Skill {
  name: string;
  /** Other names that find this skill: the name of its folder, when that differs. */
  aliases: string[];
  /** One clean line of at most 300 characters. */
  description: string;
  version: string | null;
  /** Lower-case; a single `*` means every message; empty means that the skill is only listed. */
  triggers: string[];
  tools: ToolSpec[];
  /** Maps the name in use to the name in the file, for tools whose name in the file is refused by providers. */
  renamedTools: { [name: string]: string };
  /** True if the skill's plugin offers tools while it runs. They are in `tools`, like those of the file. */
  providesTools: boolean;
  offered?: OfferedNames;
  permissions: SkillPermissions;
  rules: GateRule[];
  gateTests: GateTest[];
  requires: string[];
  /** Without frontmatter. */
  body: string;
  /** Absolute path of the SKILL.md, and of its folder. */
  path: string;
  folder: string;
  plugin: string | null;
  verdict: Exclude<SkillVerdict, "skip">;
}

/** One set of skills. It is complete before it replaces the previous set. */
export interface SkillSet {
  /** In precedence order: if two tools have the same name, the later skill's tool is used. */
  skills: Skill[];
  diagnostics: SkillDiagnostic[];
}
