import { execFileSync } from "node:child_process";
import { Command } from "commander";
import { expect, test } from "vitest";
import { completionScript } from "../../src/cli/completion.ts";

const program = new Command("remora").option("--env-file <file>", "settings");
const skills = program.command("skills").description("skills");
skills.command("add").description("add somebody's skill").option("--all", "all of them");
skills.command("list").description("list");
program.command("start").description("start");

function completed(...words: string[]): string[] {
  const script = `${completionScript("bash", program)}
COMP_WORDS=(remora "$@"); COMP_CWORD=$#; _remora; echo "\${COMPREPLY[*]}"`;
  return execFileSync("bash", ["-c", script, "bash", ...words], { encoding: "utf8" })
    .trim()
    .split(" ")
    .filter(Boolean);
}

test("bash completes commands and options at every level", () => {
  expect(completed("s")).toEqual(["skills", "start"]);
  expect(completed("skills", "")).toEqual(["add", "list", "--help"]);
  expect(completed("skills", "add", "--a")).toEqual(["--all"]);
  expect(completed("--env-file", "x", "skills", "l")).toEqual(["list"]);
  expect(completed("start", "nothing")).toEqual([]);
});

test("zsh and fish get the same words, with quotes escaped", () => {
  expect(completionScript("zsh", program)).toContain("('skills add') compadd -- --all --help ;;");
  const fish = completionScript("fish", program);
  expect(fish).toContain(`complete -c remora -n '__remora_at "skills"' -f -a 'add' -d 'add somebody'\\''s skill'`);
  expect(fish).toContain(`complete -c remora -n '__remora_at "skills add"' -l all -d 'all of them'`);
});
