/** A skill as read from its `SKILL.md`, with the problems found. Pure data: reading a skill runs none of its code. */
import type { GateRule } from "./gate.ts";
import type { JsonObject } from "./message.ts";
import type { ToolSpec } from "./tool.ts";

export type SkillVerdict = "accept" | "warn" | "skip";

export interface SkillDiagnostic {
  /** Path of the SKILL.md, or of the folder if it has none. */
  path: string;
  line: number;
  severity: "warning" | "error";
  /** Permanent, for example `skill.unclosed-frontmatter`. */
  code: string;
  message: string;
  /** What a program said about it, without secrets; for owners only. */
  printed?: string;
}

/** A call with the verdict that the skill's author expects; `remora skills check` runs them. */
export interface GateTest {
  tool: string;
  args: JsonObject;
  want: "block" | "confirm" | "safe";
  line: number;
}

/** Names of tools that the plugin offers. Rules also apply to withdrawn tools, which may return while a call waits. */
export interface OfferedNames {
  current: string[];
  /** Every name ever offered. Danger patterns with `{offered_tool}` apply to all of them. */
  ever: string[];
  /** The names to which confirm patterns with `{offered_tool}` apply: all except trusted tools. */
  asking: string[];
}

export interface SkillPermissions {
  files: "none" | "read" | "write";
  network: string[];
  env: string[];
  /** Whether the plugin may start other programs. They run in their own sandbox. */
  commands: boolean;
  services: ("memory" | "chat" | "schedules")[];
}

export interface Skill {
  name: string;
  /** Other names that find this skill, such as its folder's name. */
  aliases: string[];
  description: string;
  version: string | null;
  /** Lower-case. A single `*` means every message; if empty, the skill is only listed. */
  triggers: string[];
  tools: ToolSpec[];
  /** Maps names in use to those in SKILL.md, for tools whose names providers would refuse. */
  renamedTools: { [name: string]: string };
  /** The plugin offers tools while it runs. `tools` includes them. */
  providesTools: boolean;
  offered?: OfferedNames;
  permissions: SkillPermissions;
  rules: GateRule[];
  gateTests: GateTest[];
  requires: string[];
  body: string;
  path: string;
  folder: string;
  plugin: string | null;
  verdict: Exclude<SkillVerdict, "skip">;
}

export interface SkillSet {
  /** In precedence order: if two tools have the same name, the later skill's tool is used. */
  skills: Skill[];
  diagnostics: SkillDiagnostic[];
}
