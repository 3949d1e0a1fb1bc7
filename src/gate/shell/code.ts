/** Finds commands that run code. Inline code is judged like a command; code from elsewhere adds a tag. */
import { baseName } from "./flags.ts";
import type { ShellWord } from "./words.ts";

export type CodeSource =
  | { type: "script"; text: string; isDynamic: boolean }
  | { type: "stdin"; isShell: boolean }
  | { type: "inline" }
  /** A script that exists only while the command runs, such as `bash <(…)`. */
  | { type: "made" };

interface Interpreter {
  name: RegExp;
  code: RegExp;
  withValue?: RegExp;
  hasModules?: boolean;
}

const shells = /^(?:ba|z|da|k|mk|a|fi|c|tc|r|rba)?sh$/;
const interpreters: Interpreter[] = [
  { name: /^(?:python|pypy)[\d.]*$/i, code: /^-[A-Za-z]*c/, withValue: /^-[WX]$/, hasModules: true },
  { name: /^(?:perl|ruby|jruby)[\d.]*$/i, code: /^-[A-Za-z0-9]*[eE]/, withValue: /^-[IrM]$/ },
  {
    name: /^(?:node|nodejs|bun|tsx|ts-node)$/i,
    code: /^(?:-[A-Za-z]*[ep]|--eval(?:=.*)?|--print(?:=.*)?)$/,
    withValue: /^(?:-r|--require|--import|--loader)$/,
  },
  { name: /^deno$/i, code: /^eval$/ },
  { name: /^php[\d.]*$/i, code: /^(?:-[rBRE]|--run)$/, withValue: /^-[dc]$/ },
  { name: /^(?:lua|luajit|tclsh|osascript|Rscript)[\d.]*$/i, code: /^-e/ },
  { name: /^(?:pwsh|powershell)$/i, code: /^-(?:c|command|e|encodedcommand)$/i },
];
// Omits `-v`, because for some interpreters it only adds output.
const tellsAboutItself = /^(?:--version|--help|-V|-h)$/;

export function codeSourceOf(words: readonly ShellWord[]): CodeSource | undefined {
  const name = baseName(words[0]?.value ?? "");
  const rest = words.slice(1);
  if (shells.test(name.toLowerCase())) return shellSource(rest);
  if (name === "source" || name === ".") return rest[0] === undefined ? undefined : fileSource(rest[0]);
  const interpreter = interpreters.find((one) => one.name.test(name));
  if (interpreter !== undefined) return interpreterSource(interpreter, rest);
  if (/^[gmn]?awk$|^busybox-awk$/.test(name) && rest.some(({ value }) => /\bsystem\s*\(|\|/.test(value))) {
    return { type: "inline" };
  }
  if (name === "sed" && rest.some(({ value }) => runsMatches(value))) return { type: "inline" };
  return undefined;
}

function shellSource(rest: readonly ShellWord[]): CodeSource | undefined {
  for (const [index, word] of rest.entries()) {
    const { value } = word;
    if (/^[-+]\w*c$/.test(value)) {
      const code = rest.slice(index + 1).find((next) => !/^[-+]\w+$/.test(next.value));
      return code === undefined ? undefined : { type: "script", text: code.value, isDynamic: code.hasExpansion };
    }
    if (value === "-" || /^-\w*s$/.test(value)) return { type: "stdin", isShell: true };
    if (tellsAboutItself.test(value) && value.startsWith("--")) return undefined;
    if (/^[-+]O$|^--(?:rcfile|init-file)$|^-\w*o$/.test(value)) return shellSource(rest.slice(index + 2));
    if (!/^[-+]./.test(value)) return fileSource(word);
  }
  return { type: "stdin", isShell: true };
}

function fileSource(word: ShellWord): CodeSource | undefined {
  if (/^\/dev\/(?:stdin|fd\/0)$|^\/proc\/self\/fd\/0$/.test(word.value)) return { type: "stdin", isShell: true };
  return /^<\(/.test(word.value) ? { type: "made" } : undefined;
}

function interpreterSource(
  { code, withValue, hasModules }: Interpreter,
  rest: readonly ShellWord[],
): CodeSource | undefined {
  for (let index = 0; index < rest.length; index += 1) {
    const value = rest[index]?.value ?? "";
    if (code.test(value)) return { type: "inline" };
    if (tellsAboutItself.test(value)) return undefined;
    if (withValue?.test(value)) index += 1;
    else if (value === "-") return { type: "stdin", isShell: false };
    // `python -m json.tool` reads data, not code.
    else if (/^-\w*m$/.test(value) && hasModules) return undefined;
    else if (!value.startsWith("-")) return /^<\(/.test(value) ? { type: "made" } : undefined;
  }
  return { type: "stdin", isShell: false };
}

/** GNU sed's command `e` and the flag `e` of its `s` command execute text as shell code. */
function runsMatches(script: string): boolean {
  if (/^\d*\s*e(?:\s|$)/.test(script)) return true;
  const flags = script.slice(script.lastIndexOf(script.charAt(1)) + 1);
  return script.startsWith("s") && /^\w*e/.test(flags) && script.split(script.charAt(1)).length > 3;
}
