/** Finds commands inside commands: `sudo -u ann env A=1 rm x` wraps `env A=1 rm x`, which wraps `rm x`. */
import { baseName } from "./flags.ts";
import { literalWord, type ShellWord } from "./words.ts";

export type Wrapped =
  | { type: "command"; words: ShellWord[] }
  /** `isDynamic` means that the text contains expansions, so what runs may differ. */
  | { type: "script"; text: string; isDynamic: boolean };

interface Wrapper {
  withValue?: string;
  longWithValue?: string[];
  /** Operands between the options and the command: `timeout 5 CMD`, `ssh HOST CMD`. */
  operands?: number;
  /** True if the words are joined into a script, as by `ssh` and `watch`. */
  isScript?: boolean;
  /** With one of these options, the wrapper runs nothing. */
  asks?: string[];
}

const privileges: Wrapper = {
  withValue: "ughpCrtTUDRc",
  longWithValue: ["user", "group", "host", "prompt", "chdir", "role", "type", "other-user", "chroot"],
};

const wrappers = new Map<string, Wrapper>([
  ["sudo", privileges],
  ["doas", privileges],
  ["pkexec", { longWithValue: ["user"] }],
  ["runuser", { withValue: "ugGs", longWithValue: ["user", "group"] }],
  ["env", { withValue: "uC", longWithValue: ["unset", "chdir"] }],
  ["nohup", {}],
  ["setsid", {}],
  ["command", { asks: ["-v", "-V"] }],
  ["builtin", {}],
  ["exec", { withValue: "a" }],
  ["nice", { withValue: "n", longWithValue: ["adjustment"] }],
  ["ionice", { withValue: "cnp", longWithValue: ["class", "classdata"] }],
  ["time", { withValue: "fo", longWithValue: ["format", "output"] }],
  ["timeout", { withValue: "sk", longWithValue: ["signal", "kill-after"], operands: 1 }],
  ["stdbuf", { withValue: "ioe", longWithValue: ["input", "output", "error"] }],
  ["chroot", { longWithValue: ["userspec", "groups"], operands: 1 }],
  ["unshare", {}],
  ["nsenter", { withValue: "tSG", longWithValue: ["target"] }],
  ["taskset", { operands: 1 }],
  ["flock", { withValue: "wE", longWithValue: ["timeout"], operands: 1 }],
  ["strace", { withValue: "oepsuE" }],
  ["ltrace", { withValue: "oepsu" }],
  ["fakeroot", {}],
  ["proxychains", {}],
  ["xargs", { withValue: "IinPLldasE", longWithValue: ["replace", "max-args", "max-procs", "max-lines", "delimiter"] }],
  ["parallel", { withValue: "jINL", longWithValue: ["jobs"], isScript: true }],
  ["busybox", {}],
  ["toybox", {}],
  ["watch", { withValue: "n", longWithValue: ["interval"], isScript: true }],
  ["ssh", { withValue: "bcDEeFIiJLlmOopQRSWw", operands: 1, isScript: true }],
]);

export function wrappedIn(words: readonly ShellWord[]): Wrapped[] {
  const name = baseName(words[0]?.value ?? "").toLowerCase();
  const rest = words.slice(1);
  if (name === "find" || name === "fd") return executedByFind(rest);
  if (name === "eval") return rest.length === 0 ? [] : [scriptOf(rest)];
  if (name === "trap") return rest.length < 2 ? [] : [scriptOf(rest.slice(0, 1))];
  if (name === "su" || name === "script" || name === "flock" || name === "runuser") {
    const code = optionValue(rest, "c", "command");
    if (code !== undefined) return [scriptOf([code])];
  }
  if (name === "env") {
    const split = optionValue(rest, "S", "split-string");
    if (split !== undefined) return [scriptOf([split, ...rest.slice(rest.indexOf(split) + 1)])];
  }
  const inContainer = executedInContainer(name, rest);
  if (inContainer !== undefined) return inContainer;
  const wrapper = wrappers.get(name);
  return wrapper === undefined ? [] : unwrap(rest, wrapper);
}

function unwrap(rest: readonly ShellWord[], wrapper: Wrapper): Wrapped[] {
  let index = 0;
  for (; index < rest.length; index += 1) {
    const value = rest[index]?.value ?? "";
    if (value === "--") {
      index += 1;
      break;
    }
    if (wrapper.asks?.includes(value)) return [];
    if (!/^-./.test(value) && !/^[A-Za-z_]\w*=/.test(value)) break;
    if (takesNext(value, wrapper)) index += 1;
  }
  let words = rest.slice(index + (wrapper.operands ?? 0));
  while (/^[A-Za-z_]\w*=/.test(words[0]?.value ?? "")) words = words.slice(1);
  if (words.length === 0) return [];
  return [wrapper.isScript ? scriptOf(words) : { type: "command", words }];
}

function takesNext(option: string, { withValue = "", longWithValue = [] }: Wrapper): boolean {
  if (option.startsWith("--")) return longWithValue.includes(option.slice(2));
  return withValue.includes(option.charAt(option.length - 1)) && /^-[A-Za-z]+$/.test(option);
}

/** Accepts `-c VALUE`, `-lc VALUE`, `-cVALUE`, `--command VALUE` and `--command=VALUE`. */
function optionValue(words: readonly ShellWord[], letter: string, long: string): ShellWord | undefined {
  for (const [index, word] of words.entries()) {
    if (word.value === `--${long}` || new RegExp(`^-[A-Za-z]*${letter}$`).test(word.value)) return words[index + 1];
    if (word.value.startsWith(`--${long}=`)) return { ...word, value: word.value.slice(long.length + 3) };
    if (word.value.startsWith(`-${letter}`)) return { ...word, value: word.value.slice(2) };
  }
  return undefined;
}

function scriptOf(words: readonly ShellWord[]): Wrapped {
  return {
    type: "script",
    text: words.map(({ value }) => value).join(" "),
    isDynamic: words.some(({ hasExpansion }) => hasExpansion),
  };
}

function executedByFind(rest: readonly ShellWord[]): Wrapped[] {
  const wrapped: Wrapped[] = [];
  let words: ShellWord[] | undefined;
  for (const word of rest) {
    if (words !== undefined && (word.value === ";" || word.value === "+")) {
      wrapped.push({ type: "command", words });
      words = undefined;
    } else if (words !== undefined) words.push(word);
    else if (/^-(?:exec|execdir|ok|okdir|x|X|-exec|-exec-batch)$/.test(word.value)) words = [];
  }
  if (words !== undefined && words.length > 0) wrapped.push({ type: "command", words });
  return wrapped;
}

/** Handles `docker exec … NAME CMD`, `docker run … IMAGE CMD`, `kubectl exec … -- CMD`, `docker compose exec …`. */
function executedInContainer(name: string, rest: readonly ShellWord[]): Wrapped[] | undefined {
  if (!["docker", "podman", "kubectl", "nerdctl"].includes(name)) return undefined;
  const start = rest.findIndex(({ value }) => value === "exec" || value === "run");
  if (start === -1) return [];
  const dashes = rest.findIndex(({ value }, index) => index > start && value === "--");
  if (dashes !== -1) return [{ type: "command", words: rest.slice(dashes + 1) }];
  const options: Wrapper = { withValue: "uwevplhmncf", longWithValue: ["user", "workdir", "env", "volume", "name"] };
  return unwrap(rest.slice(start + 1), { ...options, operands: 1 });
}

/** Each element is one word, without shell syntax. */
export function wordsOf(values: readonly string[]): ShellWord[] {
  return values.map(literalWord);
}
