/**
 * The patterns that the gate's own tables are judged by: what the skill of a shell without a sandbox would carry, tags
 * included. They show what forms and tags find; the shipped shell skill asks about far less. Written for this project.
 */
import type { GateRules } from "../../../src/ports/gate.ts";

/** Where a harmful command may start: at the beginning, behind the tool's name, a separator, a quote or a path. */
const start = "(?:^|[\\s;&|({\"'`/])";

const dangerPatterns: { pattern: string; reason: string }[] = [
  {
    pattern: `${start}rm\\s+(?:-\\S+\\s+)*-(?:[a-z]*r[a-z]*f|[a-z]*f[a-z]*r)`,
    reason: "deletes folders without asking",
  },
  { pattern: `${start}rm\\s+(?:-\\S+\\s+)*--recursive\\s+--force`, reason: "deletes folders without asking" },
  {
    pattern: `${start}rm\\s+(?:-\\S+\\s+)*(?:/|~|\\$HOME|\\$\\{HOME\\})(?:\\*|/\\*|/)?(?:[\\s"';&|)]|$)`,
    reason: "deletes the system or the home folder",
  },
  { pattern: `${start}mkfs(?:\\.\\w+)?\\s`, reason: "formats a disk" },
  { pattern: `${start}dd\\s.*\\bof=/dev/`, reason: "writes to a device" },
  { pattern: ">\\s*/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|mapper)", reason: "writes to a device" },
  { pattern: ":\\(\\)\\s*\\{\\s*:\\s*\\|\\s*:\\s*&\\s*\\}", reason: "fork bomb" },
  {
    pattern: `${start}chmod\\s+(?:-\\S+\\s+)*0?777\\s+(?:-\\S+\\s+)*/(?:[\\s"']|$)`,
    reason: "opens the system to all",
  },
  {
    pattern: `${start}ch(?:mod|own|grp)\\s+-[a-z]*R[a-z]*\\s+\\S+\\s+/(?:etc|usr|bin|lib|var|boot)?/?(?:[\\s"';&|)]|$)`,
    reason: "changes who may do what on the whole system",
  },
  {
    pattern: "(?:curl|wget|fetch)\\s[^|]*\\|\\s*(?:sudo\\s+)?(?:ba|z|da|k)?sh\\b",
    reason: "runs what it downloads",
  },
  {
    pattern: "(?:curl|wget|fetch)\\s[^|]*\\|\\s*(?:sudo\\s+)?(?:python3?|perl|ruby|node|php)\\s*-?\\s*(?:[\"';&|)]|$)",
    reason: "runs what it downloads",
  },
  { pattern: ">\\s*/etc/", reason: "overwrites the system's settings" },
  { pattern: `${start}tee\\s+(?:-\\S+\\s+)*/etc/`, reason: "overwrites the system's settings" },
  { pattern: `${start}(?:shutdown|reboot|halt|poweroff)(?:[\\s"';&|]|$)`, reason: "stops the machine" },
  { pattern: `${start}(?:systemctl|init)\\s+(?:0|6|reboot|poweroff|halt)\\b`, reason: "stops the machine" },
  { pattern: `${start}(?:shred|wipefs|blkdiscard)\\s.*/dev/`, reason: "erases a device" },
];

const confirmPatterns: { pattern: string; reason: string }[] = [
  {
    pattern: "#shell:(?:dynamic|glob|prompt|pipe-to|inline|find|parse)",
    reason: "can't be read from the text",
  },
  { pattern: `${start}sudo\\s`, reason: "acts as another user" },
  { pattern: "git\\s+push\\s(?:.*\\s)?(?:--force|-[a-z]*f)", reason: "rewrites what others have" },
  { pattern: "#taint:untrusted", reason: "follows what a stranger wrote" },
];

/** The tools of the tables: one with a shell command, as text or as words, and one without. */
export const shellTool = "shell_exec";
const file = "skills/shell/SKILL.md";

export function referenceRules(): GateRules {
  const lines = [
    ...dangerPatterns.map((entry) => ({ kind: "danger" as const, ...entry })),
    ...confirmPatterns.map((entry) => ({ kind: "confirm" as const, ...entry })),
  ];
  return {
    rules: lines.map((entry, index) => ({ ...entry, skill: "shell", file, line: 10 + index })),
    shellParameters: new Map([[shellTool, ["command", "argv"]]]),
  };
}
