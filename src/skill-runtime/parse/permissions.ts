/** Reads `permissions` from SKILL.md. Its plugin is denied everything else. */
import { isJsonObject } from "../../lib/json.ts";
import type { SkillPermissions } from "../../ports/skill.ts";
import type { Notes } from "./diagnostics.ts";
import { toJson } from "./values.ts";
import type { Fields } from "./yaml-fields.ts";

const noPermissions: SkillPermissions = {
  files: "none",
  network: [],
  env: [],
  commands: false,
  services: [],
};

const services = ["memory", "chat", "schedules"] as const;
const knownKeys = ["files", "network", "env", "commands", ...services];

export function readPermissions(fields: Fields, notes: Notes): SkillPermissions {
  const field = fields.first("permissions");
  if (field === undefined || field.node === null) return noPermissions;
  const warn = (message: string) => notes.warn(field.line, "permissions", message);
  const written = toJson(field.node, fields.document);
  if (written === null) return noPermissions;
  if (!isJsonObject(written)) {
    warn("permissions was ignored: it must be a map of files, network, env, commands, memory, chat and schedules");
    return noPermissions;
  }
  for (const key of Object.keys(written)) {
    if (!knownKeys.includes(key)) warn(`permissions has no ${key}: known keys are ${knownKeys.join(", ")}`);
  }
  const flag = (key: string) => {
    if (written[key] !== undefined && typeof written[key] !== "boolean")
      warn(`permissions: ${key} must be true or false`);
    return written[key] === true;
  };
  const names = (key: string, pattern: RegExp) => {
    const value = written[key];
    if (value === undefined) return [];
    const list = Array.isArray(value) ? value : [value];
    const valid = list.filter((entry): entry is string => typeof entry === "string" && pattern.test(entry));
    if (valid.length < list.length) warn(`permissions: ${key} must be a list of names; other entries were ignored`);
    return [...new Set(valid)];
  };
  const { files } = written;
  if (files !== undefined && files !== "none" && files !== "read" && files !== "write")
    warn("permissions: files must be none, read or write; read as none");
  return {
    files: files === "read" || files === "write" ? files : "none",
    network: names("network", /^[^\s]{1,300}$/),
    env: names("env", /^[A-Za-z_][A-Za-z0-9_]*$/),
    commands: flag("commands"),
    services: services.filter(flag),
  };
}

/** True if the plugin needs the working folder. Programs that it starts run there too. */
export function usesFolder({ files, commands }: SkillPermissions): boolean {
  return files !== "none" || commands;
}

export function describePermissions({ files, network, env, commands, services: used }: SkillPermissions): string[] {
  return [
    ...(files === "read" ? ["reads files of the working folder"] : []),
    ...(files === "write" ? ["reads and changes files of the working folder"] : []),
    ...(network.length === 0 ? [] : [`reaches ${network.join(", ")}`]),
    ...(env.length === 0 ? [] : [`gets the variables ${env.join(", ")} of this installation`]),
    ...(commands ? ["runs programs"] : []),
    ...(used.includes("memory") ? ["reads and changes what is remembered"] : []),
    ...(used.includes("chat") ? ["reads and writes in the chat"] : []),
    ...(used.includes("schedules") ? ["makes and removes schedules"] : []),
  ];
}
