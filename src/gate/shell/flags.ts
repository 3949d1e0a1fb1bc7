/** Adds canonical spellings of a command: `rm / -r --force` also becomes `rm -rf /` and `rm --recursive --force /`. */
import { posix } from "node:path";

type Letters = ReadonlyMap<string, string>;

interface Options {
  /** Maps a long option to its letter. */
  letters: Letters;
  /** Options before the subcommand that take a value. Absent if the command has no subcommands. */
  globalsWithValue?: string[];
}

const lettersOf = (letters: Record<string, string>): Letters => new Map(Object.entries(letters));
const recursiveForce = { recursive: "r", force: "f", verbose: "v", interactive: "i" };
const containers: Options = {
  letters: lettersOf({ force: "f", all: "a", volumes: "v", interactive: "i", tty: "t", detach: "d" }),
  globalsWithValue: ["-H", "--host", "--context", "-c", "-l", "--log-level", "--config"],
};
const packages: Options = {
  letters: lettersOf({ yes: "y", "assume-yes": "y", quiet: "q" }),
  globalsWithValue: ["-o", "-c"],
};

const optionsOf = new Map<string, Options>([
  ["rm", { letters: lettersOf({ ...recursiveForce, dir: "d" }) }],
  ["cp", { letters: lettersOf(recursiveForce) }],
  ["mv", { letters: lettersOf(recursiveForce) }],
  ["ln", { letters: lettersOf({ ...recursiveForce, symbolic: "s" }) }],
  ["chmod", { letters: lettersOf({ recursive: "R", verbose: "v" }) }],
  ["chown", { letters: lettersOf({ recursive: "R", verbose: "v" }) }],
  ["chgrp", { letters: lettersOf({ recursive: "R", verbose: "v" }) }],
  ["shred", { letters: lettersOf({ force: "f", remove: "u", zero: "z", verbose: "v" }) }],
  ["userdel", { letters: lettersOf({ remove: "r", force: "f" }) }],
  ["iptables", { letters: lettersOf({ flush: "F" }) }],
  ["docker", containers],
  ["podman", containers],
  ["apt", packages],
  ["apt-get", packages],
  [
    "kubectl",
    { letters: lettersOf({ all: "A" }), globalsWithValue: ["-n", "--namespace", "--context", "--kubeconfig", "-s"] },
  ],
  [
    "systemctl",
    { letters: lettersOf({ force: "f" }), globalsWithValue: ["-H", "-M", "--host", "--machine", "--root"] },
  ],
  [
    "git",
    {
      letters: lettersOf({ force: "f", delete: "d", quiet: "q", all: "a", directories: "d" }),
      globalsWithValue: ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"],
    },
  ],
]);

export function baseName(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}

/** Returns the words as written, and with the flags of known commands in canonical orders. Omits redirects. */
export function spellingsOf(words: readonly string[]): string[] {
  const [first, ...rest] = words;
  if (first === undefined) return [];
  const name = baseName(first);
  const plain = [name, ...rest].join(" ");
  const options = optionsOf.get(name.toLowerCase());
  if (options === undefined) return [...new Set([plain, [name, ...rest.map(evenPath)].join(" ")])];
  const start = subcommandAt(rest, options.globalsWithValue);
  const head = start === undefined ? [name] : [name, ...rest.slice(start, start + 1)];
  const { flags, operands } = splitFlags(start === undefined ? rest : rest.slice(start + 1));
  const tail = operands.map(evenPath);
  const short = [...head, ...asLetters(flags, options.letters), ...tail].join(" ");
  const long = [...head, ...asLongOptions(flags, options.letters), ...tail].join(" ");
  return [...new Set([plain, short, long])];
}

/** Returns the subcommand's index, after the global options. Undefined for a command without subcommands. */
function subcommandAt(rest: string[], globalsWithValue: string[] | undefined): number | undefined {
  if (globalsWithValue === undefined) return undefined;
  let index = 0;
  while (rest[index]?.startsWith("-")) index += globalsWithValue.includes(rest[index] ?? "") ? 2 : 1;
  return index;
}

function splitFlags(words: string[]): { flags: string[]; operands: string[] } {
  const end = words.indexOf("--");
  const before = end === -1 ? words : words.slice(0, end);
  const isFlag = (word: string) => word.startsWith("-") && word !== "-";
  return {
    flags: before.filter(isFlag),
    operands: [...before.filter((word) => !isFlag(word)), ...(end === -1 ? [] : words.slice(end + 1))],
  };
}

/** Joins the letters into one cluster, `r` and `f` first, followed by the options without a letter. */
function asLetters(flags: string[], letters: Letters): string[] {
  const cluster = new Set<string>();
  const others: string[] = [];
  for (const flag of flags) {
    const letter = flag.startsWith("--") ? letters.get(longName(flag.slice(2), letters)) : undefined;
    if (letter !== undefined) cluster.add(letter);
    else if (/^-[A-Za-z]+$/.test(flag)) for (const each of flag.slice(1)) cluster.add(each);
    else others.push(flag);
  }
  const rank = (letter: string) => (/[rR]/.test(letter) ? 0 : letter === "f" ? 1 : 2);
  const sorted = [...cluster].sort((one, other) => rank(one) - rank(other) || (one < other ? -1 : 1));
  return sorted.length === 0 ? others : [`-${sorted.join("")}`, ...others];
}

function asLongOptions(flags: string[], letters: Letters): string[] {
  const longOf = new Map([...letters].map(([long, letter]) => [letter.toLowerCase(), `--${long}`]));
  const long = flags.flatMap((flag) => {
    if (flag.startsWith("--")) return [`--${longName(flag.slice(2), letters)}`];
    if (!/^-[A-Za-z]+$/.test(flag)) return [flag];
    return [...flag.slice(1)].map((letter) => longOf.get(letter.toLowerCase()) ?? `-${letter}`);
  });
  return [...new Set(long)];
}

/** GNU commands accept any unambiguous prefix of a long option. */
function longName(written: string, letters: Letters): string {
  if (written === "" || letters.has(written)) return written;
  const meant = [...letters.keys()].filter((long) => long.startsWith(written));
  return meant.length === 1 ? (meant[0] ?? written) : written;
}

/** Turns `//etc/./x/../passwd` and `/proc/self/root/etc/passwd` into `/etc/passwd`. Other words are unchanged. */
export function evenPath(word: string): string {
  if (!word.startsWith("/")) return word;
  return posix.normalize(word).replace(/^\/proc\/(?:self|thread-self|\d+)\/root(?=\/|$)/, "") || "/";
}
