/** Random commands, the same for the same seed. Places in them are names (places.ts). */
import { createRandom, type Random } from "../random.ts";
import { everydayCommand } from "./everyday.ts";
import { inOtherForm } from "./forms.ts";
import { gitCommand } from "./git-commands.ts";
import { payload } from "./payloads.ts";
import { fillTemplate } from "./text.ts";
import { allTricks, trick } from "./tricks.ts";

/** Arguments of one call of `shell_exec`. */
export interface ShellCall {
  command: string;
  background?: true;
  network?: string[];
}

const networkShare = 0.015;
const backgroundShare = 0.02;
/** Time limit of background jobs, because some of these commands never end. */
const jobSeconds = 30;
/** Odd inputs that must not break any interpreter. */
const oddTexts: readonly string[] = [
  "((",
  "'",
  '"',
  "$(",
  "`",
  "<<",
  ";;",
  "\u0001",
  "𝕃𝕊",
  "ls\r",
  "&",
  "|",
  "\\",
  "if",
  "}",
];

export function generateCalls(seed: number, count: number): ShellCall[] {
  const random = createRandom(seed);
  const attack = () => payload(random);
  // Each known trick once, then random ones.
  const known = allTricks.slice(0, Math.floor(count / 3)).map((template) => fillTemplate(template, random, attack));
  const calls = known.map((command): ShellCall => ({ command }));
  while (calls.length < count) calls.push(generateCall(random, attack));
  return calls;
}

function generateCall(random: Random, attack: () => string): ShellCall {
  const one = () =>
    random.weighted<() => string>([
      [9, () => everydayCommand(random, attack)],
      [5, () => trick(random, attack)],
      [3, () => gitCommand(random, attack)],
      [5, attack],
      [0.3, () => random.pick(oddTexts)],
    ])();
  const command = random.chance(0.45) ? inOtherForm(one(), random, one) : one();
  if (random.chance(networkShare))
    return { command, network: [random.pick(["@ADDRESS@", "example.com", "127.0.0.1"])] };
  return random.chance(backgroundShare) ? { command: endingInTime(command), background: true } : { command };
}

function endingInTime(command: string): string {
  return `timeout -k 1 ${jobSeconds} bash -c '${command.replaceAll("'", `'\\''`)}'`;
}
