/** A skill as it was read from its `SKILL.md`, and what was found wrong while reading. Data only: loading runs no code. */
import type { GateRule } from "./gate.ts";
import type { JsonObject } from "./message.ts";
import type { ToolSpec } from "./tool.ts";

export type SkillVerdict = "accept" | "warn" | "skip";

export interface SkillDiagnostic {
  /** Path of the SKILL.md (or of the folder, where there is none). */
  path: string;
  /** 1-based; 0 where no single line is meant. */
  line: number;
  severity: "warning" | "error";
  /** Permanent, e.g. `skill.unclosed-frontmatter`. */
  code: string;
  message: string;
}

/** A call with the verdict its author wants; `remora skills check` runs them. */
export interface GateTest {
  tool: string;
  args: JsonObject;
  want: "block" | "confirm" | "safe";
  line: number;
}

/** Names of offered tools. Rules go on holding for a tool that is gone: it may come back while a call of it waits. */
export interface OfferedNames {
  current: string[];
  /** All that were ever offered; danger patterns with `{offered_tool}` hold for each. */
  ever: string[];
  /** Of those, the ones that confirm patterns with `{offered_tool}` hold for: all but the trusted. */
  asking: string[];
}

export interface SkillPermissions {
  files: "none" | "read" | "write";
  /** Hosts, written as in a shell call. */
  network: string[];
  env: string[];
  /** Starts other programs; in the sandbox of its process. */
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
  /** Lower-case; `*` alone means every message; empty means index-only. */
  triggers: string[];
  tools: ToolSpec[];
  /** From the tool name in force to the one in the file, for tools whose written name providers refuse. */
  renamedTools: { [name: string]: string };
  /** Its plugin offers tools while it runs; they are in `tools` beside those of the file. */
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

/** One set of skills, built aside and swapped whole. */
export interface SkillSet {
  /** In precedence order: of two tools with one name the later skill's is in force. */
  skills: Skill[];
  diagnostics: SkillDiagnostic[];
}
