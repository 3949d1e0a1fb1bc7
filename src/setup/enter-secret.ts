/** Asks for a secret until the service accepts it, or the person skips it. */
import { RemoraError } from "../lib/errors.ts";
import { cleanToken } from "../lib/text/clean-token.ts";
import type { CheckProblem, CheckResult } from "../ports/check.ts";
import { type Setup, variable } from "./services.ts";

export interface SecretStep<Facts> {
  /** The variable's name, such as SLACK_BOT_TOKEN. */
  name: string;
  /** Such as "bot token". */
  what: string;
  message: string;
  flag: string;
  file: string | undefined;
  /** What is already set belongs to another service, and is not used. */
  isNew?: boolean;
  /** Shown while the service is asked. */
  doing: string;
  check(secret: string): Promise<CheckResult<Facts>>;
}

/** Problems that somebody may solve elsewhere, while the secret stays the same. */
const sameSecretCodes =
  /missing-scopes|intents|unreachable|rate-?limited|bad-answer|http|refused|overloaded|timeout|server-error|no-credit|spend-limit|aborted/;

/** Resolves to undefined if the person skips it. Begins with what is already set, so running setup again changes nothing. */
export async function enterSecret<Facts>(
  setup: Setup,
  step: SecretStep<Facts>,
): Promise<({ secret: string } & Facts) | undefined> {
  const { ask, services, envFile } = setup;
  const fromFile = step.file === undefined ? undefined : await services.readSecretFile(step.file);
  let secret =
    fromFile !== undefined
      ? cleanToken(fromFile)
      : step.isNew
        ? undefined
        : (variable(setup, step.name) ?? envFile.held(step.name));
  for (;;) {
    if (secret === undefined) {
      secret = cleanToken(await ask.secret(step));
      if (secret === "") {
        if (await ask.confirm({ message: `Continue without the ${step.what}?`, flag: step.flag, initial: true }))
          return undefined;
        secret = undefined;
        continue;
      }
    }
    const tried = secret;
    const checked = await ask.during(step.doing, () => step.check(tried));
    if (checked.ok) return { secret: tried, ...checked };
    if (!ask.isInteractive) throw notAccepted(step, checked);
    ask.warn(`${checked.problem}\n${checked.fix}`);
    const isSame = sameSecretCodes.test(checked.code);
    const next = await ask.select({
      message: "What now?",
      flag: step.flag,
      choices: [
        ...(isSame ? [{ value: "again" as const, label: "Check again" }] : []),
        { value: "other" as const, label: `Paste another ${step.what}` },
        { value: "skip" as const, label: "Skip it for now" },
      ],
    });
    if (next === "skip") return undefined;
    if (next === "other") secret = undefined;
  }
}

function notAccepted(
  { flag, name, file }: { flag: string; name: string; file: string | undefined },
  { code, problem, fix }: CheckProblem,
): RemoraError {
  return new RemoraError({ code, place: file === undefined ? name : flag, message: `${problem} ${fix}` });
}
