/** Other spellings of a command: quoting, variables, wrappers, substitutions and redirections. */
import type { Random } from "../random.ts";
import { quoted } from "./text.ts";

type Form = (command: string, random: Random) => string;

const base64 = (text: string) => Buffer.from(text).toString("base64");
const hex = (text: string) => Buffer.from(text).toString("hex");
const escapes = (text: string) =>
  [...Buffer.from(text)].map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
const octal = (text: string) => [...Buffer.from(text)].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");

/** Forms that respell a text only take commands without names of places, which must stay unchanged. */
const spelled =
  (form: Form): Form =>
  (command, random) =>
    /@[A-Z]+@/.test(command) ? command : form(command, random);

const firstWord = (command: string, change: (word: string) => string) => command.replace(/^[a-z][\w.-]*/, change);

const forms: readonly Form[] = [
  (c) => `bash -c ${quoted(c)}`,
  (c) => `sh -c ${quoted(c)}`,
  (c) => `env sh -c ${quoted(c)}`,
  (c) => `timeout 4 bash -c ${quoted(c)}`,
  (c) => `nohup bash -c ${quoted(c)} 2>&1 | cat`,
  (c) => `setsid -w bash -c ${quoted(c)}`,
  (c) => `xargs -I% bash -c ${quoted(c)} <<< x`,
  (c) => `nice bash -c ${quoted(c)}`,
  (c) => `eval ${quoted(c)}`,
  (c) => `x=${quoted(c)}; eval "$x"`,
  (c) => `bash <<'END'\n${c}\nEND`,
  (c) => `bash <<< ${quoted(c)}`,
  (c) => `. /dev/stdin <<'END'\n${c}\nEND`,
  (c) => `f() { ${c}\n}; f`,
  (c) => `( ${c}\n)`,
  (c) => `{ ${c}\n}`,
  (c) => `echo "$(${c}\n)"`,
  (c) => `cat <(${c}\n)`,
  (c) => `if true; then ${c}\nfi`,
  (c) => `for i in 1 2; do ${c}\ndone`,
  (c) => `while :; do ${c}\nbreak; done`,
  (c) => `case x in *) ${c}\n;; esac`,
  (c) => `true && ${c}`,
  (c) => `false || ${c}`,
  (c) => `! ${c}`,
  (c) => `cd src; ${c}`,
  (c) => `cd /; ${c}`,
  (c) => `cd link-folder; ${c}`,
  (c) => `${c} &\nwait`,
  (c) => `trap ${quoted(c)} EXIT`,
  (c) => `exec 2>&1; ${c}`,
  (c) => `set -x; ${c}`,
  (c) => `shopt -s globstar dotglob nullglob extglob; ${c}`,
  (c) => `${c} < a.txt`,
  (c) => `${c} <<END\n$(id)\nEND`,
  (c) => `PATH=.:$PATH; ${c}`,
  (c) => `export HOME=@HOME@; ${c}`,
  (c) => `umask 0; ulimit -n 20; ${c}`,
  (c) => `# a comment\n\n  ${c}`,
  (c) => `python3 -c 'import os,sys; os.execvp("bash",["bash","-c",sys.argv[1]])' ${quoted(c)}`,
  (c) => `perl -e 'exec @ARGV' bash -c ${quoted(c)}`,
  (c) => `echo ${quoted(c)} > run.sh; sh run.sh`,
  (c) => `echo ${quoted(c)} > build.mk; sed -i '1i x:' build.mk; make -f build.mk`,
  (c) => `git -c alias.x=${quoted(`!${c}`)} x`,
  spelled((c) => `echo ${base64(c)} | base64 -d | sh`),
  spelled((c) => `xxd -r -p <<< ${hex(c)} | bash`),
  spelled((c) => `bash -c $'${escapes(c)}'`),
  spelled((c) => `printf '${octal(c)}' | sh`),
  (c) => firstWord(c, (word) => `\\${word}`),
  (c) => firstWord(c, (word) => `'${word}'`),
  (c) => firstWord(c, (word) => `${word.slice(0, 1)}""${word.slice(1)}`),
  (c) => firstWord(c, (word) => `command ${word}`),
  (c) => firstWord(c, (word) => `exec ${word}`),
  (c) => firstWord(c, (word) => `$(echo ${word})`),
  (c) => firstWord(c, (word) => `/usr/bin/${word}`),
  (c) => firstWord(c, (word) => `./${word}`),
  (c) => firstWord(c, (word) => `/???/bin/${word.slice(0, 1)}[${word.slice(1, 2) || "x"}]${word.slice(2)}`),
  (c) => c.replaceAll(" ", "\t"),
  (c) => c.replaceAll(" ", "  "),
  (c) => c.replace(/ (?=[^ ]*$)/, " \\\n "),
];

/** The command in one or two other forms, or combined with another. */
export function inOtherForm(command: string, random: Random, another: () => string): string {
  const form = random.pick(forms);
  const once = random.chance(0.6) ? form(command, random) : command;
  const twice = random.chance(0.15) ? random.pick(forms)(once, random) : once;
  if (!random.chance(0.1)) return twice;
  return `${twice}${random.pick([" ; ", "\n", " && ", " || ", " & "])}${another()}`;
}
