/** Models on servers of one's own: Ollama, or any server with OpenAI's protocol. Asks for the address and the model. */
import { RemoraError } from "../lib/errors.ts";
import { cleanToken } from "../lib/text/clean-token.ts";
import { keyFormProblem } from "./key-form.ts";
import { saveModel } from "./save-model.ts";
import { type ModelChoice, type Setup, variable } from "./services.ts";

const defaultOllamaUrl = "http://127.0.0.1:11434";
const maxListedModels = 50;
const maxNamedModels = 8;

/** What the person wants to enter again. */
type Change = "nothing" | "address" | "model";
type Prepared = ModelChoice | { problem: string };

/** Failures that another model of the same service may not have. */
export const modelCodes = /\.(?:unknown-model|model-ended|no-tools|forbidden|wrong-api)$/;

/** Resolves to false if the person skips it. */
export async function chooseOllama(setup: Setup): Promise<boolean> {
  const { ask, flags, services } = setup;
  let url = flags.modelUrl ?? variable(setup, "OLLAMA_HOST");
  let model = flags.model;
  return await untilItAnswers(setup, "--provider", async (change) => {
    if (change === "address") url = await enterUrl(setup, url ?? defaultOllamaUrl, defaultOllamaUrl);
    const models = await ask.during("Looking for Ollama", () => services.listOllamaModels(url));
    if (models === undefined)
      return { problem: `Ollama does not answer at ${url ?? defaultOllamaUrl}.\nStart it with: ollama serve` };
    if (models.length === 0)
      return {
        problem: `Ollama has no model yet that can chat.\nGet one with: ollama pull ${services.advisedOllamaModel}`,
      };
    if (change === "model") model = await chooseOther(setup, models, model ?? "");
    else if (model === undefined || change === "address") model = await chooseListed(setup, models);
    return { provider: "ollama", model, key: undefined, url };
  });
}

/** Resolves to false if the person skips it. */
export async function chooseCompatible(setup: Setup): Promise<boolean> {
  const { flags, services } = setup;
  const present = variable(setup, "OPENAI_BASE_URL");
  let choice: ModelChoice | undefined;
  let models: readonly string[] = [];
  return await untilItAnswers(setup, "--model-url", async (change) => {
    if (choice !== undefined && change === "nothing") return choice;
    if (choice !== undefined && change === "model") {
      choice = { ...choice, model: await chooseOther(setup, models, choice.model) };
      return choice;
    }
    const first = choice === undefined ? flags.modelUrl : undefined;
    const url = first ?? (await enterUrl(setup, choice?.url ?? present ?? "", "http://127.0.0.1:8000/v1"));
    checkFlag(url);
    const key = await keyOf(setup, url, choice === undefined);
    models = (await services.listCompatibleModels(url, key)) ?? [];
    const model =
      flags.model ??
      (models.length === 0 ? await enterModelName(setup, choice?.model ?? "") : await chooseNamed(setup, models));
    choice = { provider: "compatible", model, key, url };
    return choice;
  });
}

/** Tries until the model answers. `prepare` resolves to the model, or to what went wrong before it could be asked. */
async function untilItAnswers(
  setup: Setup,
  flag: string,
  prepare: (change: Change) => Promise<Prepared>,
): Promise<boolean> {
  const { ask } = setup;
  for (let change: Change = "nothing"; ; ) {
    const prepared = await prepare(change);
    const failed = "problem" in prepared ? { ...prepared, place: flag } : await tryModel(setup, prepared, flag);
    if (failed === undefined) return true;
    if (!ask.isInteractive)
      throw new RemoraError({
        code: "setup.model",
        place: failed.place,
        message: failed.problem.replaceAll("\n", " "),
      });
    ask.warn(failed.problem);
    const next = await ask.select({
      message: "What now?",
      flag,
      choices: [
        { value: "nothing" as const, label: "Try again" },
        ...("model" in prepared ? [{ value: "model" as const, label: "Choose another model" }] : []),
        { value: "address" as const, label: "Enter another address" },
        { value: "skip" as const, label: "Skip it for now" },
      ],
    });
    if (next === "skip") return false;
    change = next;
  }
}

/** Resolves to what went wrong, what to do, and the flag that is the cause. */
async function tryModel(
  setup: Setup,
  choice: ModelChoice,
  flag: string,
): Promise<{ problem: string; place: string } | undefined> {
  const { ask, services } = setup;
  const doing = `Testing ${choice.model}. A large model can take a minute to load`;
  const checked = await ask.during(doing, () => services.checkModel(choice));
  if (checked.ok) {
    await saveModel(setup, choice, checked);
    return undefined;
  }
  const isModel = modelCodes.test(checked.code);
  const pull =
    choice.provider === "ollama" && isModel ? `\nGet one with: ollama pull ${services.advisedOllamaModel}` : "";
  const place = isModel ? "--model" : checked.code === "provider.wrong-key" ? "--model-key-file" : flag;
  return { problem: `${checked.problem}\n${checked.fix}${pull}`, place };
}

/** Nobody would know which of a service's models was taken. */
async function chooseNamed(setup: Setup, models: readonly string[]): Promise<string> {
  if (setup.ask.isInteractive || models.length === 1) return await chooseListed(setup, models);
  const some = models.slice(0, maxNamedModels).join(", ");
  const more = models.length > maxNamedModels ? `, and ${models.length - maxNamedModels} more` : "";
  throw new RemoraError({
    code: "setup.flag",
    place: "--model",
    message: `Name one of the models there: ${some}${more}`,
  });
}

async function chooseListed({ ask }: Setup, models: readonly string[]): Promise<string> {
  const [initial = ""] = models;
  if (models.length === 1) return initial;
  const choices = models.slice(0, maxListedModels).map((value) => ({ value, label: value }));
  return await ask.select({ message: "Which of its models?", flag: "--model", choices, initial });
}

async function chooseOther(setup: Setup, models: readonly string[], tried: string): Promise<string> {
  const others = models.filter((model) => model !== tried);
  return others.length < 2 ? await enterModelName(setup, others[0] ?? tried) : await chooseListed(setup, others);
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
