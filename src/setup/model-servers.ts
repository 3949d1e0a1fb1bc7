/** Models on servers of one's own: Ollama, or any server with OpenAI's protocol. Asks for the address and the model. */
import { RemoraError } from "../lib/errors.ts";
import { cleanToken } from "../lib/text/clean-token.ts";
import { keyFormProblem } from "./key-form.ts";
import { saveModel } from "./save-model.ts";
import { type ModelChoice, type Setup, variable } from "./services.ts";

const defaultOllamaUrl = "http://127.0.0.1:11434";
const maxListedModels = 50;

/** Resolves to false if the person skips it. */
export async function chooseOllama(setup: Setup): Promise<boolean> {
  const { ask, flags, services } = setup;
  let url = flags.modelUrl ?? variable(setup, "OLLAMA_HOST");
  return await untilItAnswers(setup, "--provider", async (isOther) => {
    if (isOther) url = await enterUrl(setup, url ?? defaultOllamaUrl, defaultOllamaUrl);
    const models = await ask.during("Looking for Ollama", () => services.listOllamaModels(url));
    if (models === undefined)
      return `Ollama does not answer at ${url ?? defaultOllamaUrl}.\nStart it with: ollama serve`;
    if (models.length === 0)
      return `Ollama has no model yet that can chat.\nGet one with: ollama pull ${services.advisedOllamaModel}`;
    const model = flags.model ?? (await chooseListed(setup, models));
    return { provider: "ollama", model, key: undefined, url };
  });
}

/** Resolves to false if the person skips it. */
export async function chooseCompatible(setup: Setup): Promise<boolean> {
  const { flags, services } = setup;
  const present = variable(setup, "OPENAI_BASE_URL");
  let choice: ModelChoice | undefined;
  return await untilItAnswers(setup, "--model-url", async (isOther) => {
    if (choice !== undefined && !isOther) return choice;
    const first = choice === undefined ? flags.modelUrl : undefined;
    const url = first ?? (await enterUrl(setup, choice?.url ?? present ?? "", "http://127.0.0.1:8000/v1"));
    checkFlag(url);
    const key = await keyOf(setup, url, choice === undefined);
    const models = flags.model === undefined ? await services.listCompatibleModels(url, key) : undefined;
    const model =
      flags.model ??
      (models === undefined || models.length === 0
        ? await enterModelName(setup, choice?.model ?? "")
        : await chooseListed(setup, models));
    choice = { provider: "compatible", model, key, url };
    return choice;
  });
}

/**
 * Tries until the model answers. `prepare` gets whether the person wants to enter something else, and resolves to the model
 * or to what went wrong.
 */
async function untilItAnswers(
  setup: Setup,
  flag: string,
  prepare: (isOther: boolean) => Promise<ModelChoice | string>,
): Promise<boolean> {
  const { ask } = setup;
  for (let isOther = false; ; ) {
    const prepared = await prepare(isOther);
    const problem = typeof prepared === "string" ? prepared : await tryModel(setup, prepared);
    if (problem === undefined) return true;
    if (!ask.isInteractive)
      throw new RemoraError({ code: "setup.model", place: flag, message: problem.replaceAll("\n", " ") });
    ask.warn(problem);
    const next = await ask.select({
      message: "What now?",
      flag,
      choices: [
        { value: "again" as const, label: "Try again" },
        { value: "other" as const, label: "Enter another address" },
        { value: "skip" as const, label: "Skip it for now" },
      ],
    });
    if (next === "skip") return false;
    isOther = next === "other";
  }
}

/** Resolves to what went wrong, and what to do. */
async function tryModel(setup: Setup, choice: ModelChoice): Promise<string | undefined> {
  const { ask, services } = setup;
  const doing = `Testing ${choice.model}. A large model can take a minute to load`;
  const checked = await ask.during(doing, () => services.checkModel(choice));
  if (!checked.ok) return `${checked.problem}\n${checked.fix}`;
  await saveModel(setup, choice, checked);
  return undefined;
}

async function chooseListed({ ask }: Setup, models: readonly string[]): Promise<string> {
  const [first = ""] = models;
  if (models.length === 1) return first;
  const choices = models.slice(0, maxListedModels).map((value) => ({ value, label: value }));
  return await ask.select({ message: "Which of its models?", flag: "--model", choices, initial: first });
}

export async function enterModelName({ ask }: Setup, initial: string): Promise<string> {
  return await ask.text({
    message: "The model's name",
    flag: "--model",
    initial,
    problemOf: (answer) => (/^\S+$/.test(answer) ? undefined : "Enter the model's name, without spaces."),
  });
}

async function enterUrl({ ask }: Setup, initial: string, example: string): Promise<string> {
  const message = example.endsWith("/v1") ? "The server's address, including /v1" : "The server's address";
  const problemOf = (answer: string) => (isUrl(answer) ? undefined : `Enter an address, such as ${example}.`);
  return await ask.text({ message, flag: "--model-url", initial, problemOf });
}

function isUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function checkFlag(url: string): void {
  if (isUrl(url)) return;
  const message = "Enter an address, such as http://127.0.0.1:8000/v1.";
  throw new RemoraError({ code: "setup.flag", place: "--model-url", message });
}

/** A key that is set for another address is never sent to this one. */
async function keyOf(setup: Setup, url: string, isFirst: boolean): Promise<string | undefined> {
  const { ask, flags, services } = setup;
  if (flags.modelKeyFile !== undefined) {
    const key = cleanToken(await services.readSecretFile(flags.modelKeyFile));
    const wrong = keyFormProblem("compatible", key);
    if (wrong === undefined) return key;
    throw new RemoraError({ code: wrong.code, place: "--model-key-file", message: `${wrong.problem} ${wrong.fix}` });
  }
  const set = variable(setup, "OPENAI_BASE_URL") === url ? variable(setup, "OPENAI_API_KEY") : undefined;
  if (!ask.isInteractive || (isFirst && set !== undefined)) return set;
  const message = `Paste the key for ${new URL(url).host} (press Enter if it needs none)`;
  for (;;) {
    const pasted = cleanToken(await ask.secret({ message, flag: "--model-key-file" }));
    const wrong = keyFormProblem("compatible", pasted);
    if (wrong === undefined) return pasted === "" ? undefined : pasted;
    ask.warn(`${wrong.problem}\n${wrong.fix}`);
  }
}
