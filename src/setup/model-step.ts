/** The model: who answers, with which key, tested by one call. */
import { RemoraError } from "../lib/errors.ts";
import { enterSecret } from "./enter-secret.ts";
import { type ModelChoice, masked, type ProviderName, type Setup, saveVariables, variable } from "./services.ts";

const order = ["anthropic", "openai", "ollama", "demo"];
const labels: Record<ProviderName, string> = {
  anthropic: "Anthropic (Claude)",
  openai: "OpenAI",
  ollama: "Ollama",
  compatible: "Another server with OpenAI's protocol",
};

export async function chooseModel(setup: Setup): Promise<void> {
  const { ask, flags } = setup;
  const present = presentProvider(setup);
  const chosen = flags.provider ?? (await selectProvider(setup, present));
  switch (chosen) {
    case "keep":
    case "demo":
      return;
    case "ollama":
      return await chooseOllama(setup);
    case "anthropic":
    case "openai":
    case "compatible": {
      const isDone = await enterKey(setup, chosen);
      if (!isDone) ask.warn("No model is set. Until there is one, a demo model without AI answers on the page.");
      return;
    }
    default:
      chosen satisfies never;
  }
}

function presentProvider(setup: Setup): ProviderName | undefined {
  if (variable(setup, "OPENAI_BASE_URL") !== undefined) return "compatible";
  const named = setup.config.get(["models", "order"]);
  const first = Array.isArray(named) ? named[0] : undefined;
  const ready = (["anthropic", "openai"] as const).filter((name) => variable(setup, keyName(name)) !== undefined);
  if (first === "ollama") return "ollama";
  return ready.find((name) => name === first) ?? ready[0];
}

async function selectProvider(
  setup: Setup,
  present: ProviderName | undefined,
): Promise<ProviderName | "keep" | "demo"> {
  const key = present === undefined || present === "ollama" ? undefined : variable(setup, keyName(present));
  const kept = present === undefined ? "" : `${labels[present]}${key === undefined ? "" : `, key ${masked(key)}`}`;
  return await setup.ask.select<ProviderName | "keep" | "demo">({
    message: "Which model answers?",
    flag: "--provider",
    initial: present === undefined ? (setup.ask.isInteractive ? "anthropic" : "demo") : "keep",
    choices: [
      ...(present === undefined ? [] : [{ value: "keep" as const, label: `Keep ${kept}` }]),
      { value: "anthropic", label: labels.anthropic, hint: "needs a key from console.anthropic.com" },
      { value: "openai", label: labels.openai, hint: "needs a key from platform.openai.com" },
      { value: "ollama", label: labels.ollama, hint: "runs on this machine or in your network" },
      { value: "compatible", label: labels.compatible, hint: "needs its address" },
      { value: "demo", label: "None for now", hint: "a demo model without AI, on the page only" },
    ],
  });
}

/** The compatible server is reached as OpenAI, at another address. */
function keyName(provider: "anthropic" | "openai" | "compatible"): string {
  return provider === "anthropic" ? "ANTHROPIC_API_KEY" : "OPENAI_API_KEY";
}

async function enterKey(setup: Setup, provider: "anthropic" | "openai" | "compatible"): Promise<boolean> {
  const { ask, flags, services } = setup;
  const section = provider === "anthropic" ? "anthropic" : "openai";
  const url = provider === "compatible" ? await enterUrl(setup) : undefined;
  let model = flags.model ?? (provider === "compatible" ? await enterModel(setup, "") : modelInForce(setup, section));
  const own = provider === "compatible" ? await keyOfServer(setup, url ?? "") : undefined;
  if (own === "none") {
    const choice = { provider, model, key: undefined, url };
    const checked = await ask.during(`Asking ${model}`, () => services.checkModel(choice));
    if (!checked.ok) {
      if (!ask.isInteractive)
        throw new RemoraError({
          code: checked.code,
          place: "--model-url",
          message: `${checked.problem} ${checked.fix}`,
        });
      ask.warn(`${checked.problem}\n${checked.fix}`);
      return false;
    }
    await saveModel(setup, choice, checked);
    return true;
  }
  const accepted = await enterSecret(setup, {
    name: keyName(provider),
    what: "key",
    message: `${labels[provider]}: paste the key (Enter alone: skip)`,
    flag: "--model-key-file",
    file: flags.modelKeyFile,
    doing: `Asking ${model} for one word`,
    async check(key) {
      const checked = await services.checkModel({ provider, model, key, url });
      if (checked.ok || checked.code !== "provider.unknown-model" || !ask.isInteractive) return checked;
      ask.warn(checked.problem);
      model = await enterModel(setup, model);
      return await services.checkModel({ provider, model, key, url });
    },
  });
  if (accepted === undefined) return false;
  await saveModel(setup, { provider, model, key: accepted.secret, url }, accepted);
  return true;
}

/** A key that is set for OpenAI must not be sent to another server without asking. */
async function keyOfServer(setup: Setup, url: string): Promise<"needed" | "none"> {
  if (setup.flags.modelKeyFile !== undefined) return "needed";
  if (!setup.ask.isInteractive) return "none";
  const needs = await setup.ask.confirm({
    message: `Does ${new URL(url).host} need a key?`,
    flag: "--model-key-file",
    initial: true,
  });
  return needs ? "needed" : "none";
}

async function enterUrl(setup: Setup): Promise<string> {
  const problemOf = (answer: string) =>
    URL.canParse(answer) && /^https?:$/.test(new URL(answer).protocol)
      ? undefined
      : "Enter an address such as http://127.0.0.1:8000/v1.";
  const { flags, ask } = setup;
  const present = flags.modelUrl ?? variable(setup, "OPENAI_BASE_URL");
  if (flags.modelUrl === undefined) {
    return await ask.text({
      message: "Address of the server, up to /v1",
      flag: "--model-url",
      initial: present ?? "",
      problemOf,
    });
  }
  const problem = problemOf(flags.modelUrl);
  if (problem !== undefined) throw new RemoraError({ code: "setup.flag", place: "--model-url", message: problem });
  return flags.modelUrl;
}

async function enterModel({ ask }: Setup, initial: string): Promise<string> {
  return await ask.text({
    message: "Name of the model",
    flag: "--model",
    initial,
    problemOf: (answer) => (/^\S+$/.test(answer) ? undefined : "Enter the model's name, without spaces."),
  });
}

function modelInForce({ config, services }: Setup, section: "anthropic" | "openai"): string {
  const set = config.get(["models", section, "model"]);
  return typeof set === "string" ? set : services.defaultModels[section];
}

async function chooseOllama(setup: Setup): Promise<void> {
  const { ask, flags, services } = setup;
  const url = flags.modelUrl ?? variable(setup, "OLLAMA_HOST");
  for (;;) {
    const models = await ask.during("Looking for Ollama", () => services.listOllamaModels(url));
    const problem =
      models === undefined
        ? `Ollama does not answer at ${url ?? "http://127.0.0.1:11434"}. Start it with: ollama serve`
        : models.length === 0
          ? "Ollama has no models yet. Get one with: ollama pull llama3.2"
          : undefined;
    if (problem === undefined && models !== undefined) {
      const [first = ""] = models;
      const choices = models.map((value) => ({ value, label: value }));
      const model =
        flags.model ??
        (models.length === 1
          ? first
          : await ask.select({ message: "Which of its models?", flag: "--model", choices, initial: first }));
      const choice: ModelChoice = { provider: "ollama", model, key: undefined, url };
      const checked = await ask.during(`Asking ${model} for one word. A large model takes a while to load`, () =>
        services.checkModel(choice),
      );
      if (checked.ok) return await saveModel(setup, choice, checked);
      if (!ask.isInteractive)
        throw new RemoraError({
          code: checked.code,
          place: "--provider",
          message: `${checked.problem} ${checked.fix}`,
        });
      ask.warn(`${checked.problem}\n${checked.fix}`);
    } else {
      if (!ask.isInteractive)
        throw new RemoraError({ code: "setup.ollama", place: "--provider", message: problem ?? "" });
      ask.warn(problem ?? "");
    }
    const isAgain = await ask.confirm({ message: "Try again?", flag: "--provider", initial: true });
    if (!isAgain) return;
  }
}

async function saveModel(
  setup: Setup,
  { provider, model, key, url }: ModelChoice,
  { milliseconds }: { milliseconds: number },
): Promise<void> {
  const { ask, config, services } = setup;
  const section = provider === "compatible" ? "openai" : provider;
  const changes: [string[], unknown][] = [];
  if (
    provider === "ollama"
      ? config.get(["models", "ollama", "model"]) !== model
      : modelInForce(setup, section as "openai") !== model
  )
    changes.push([["models", section, "model"], model]);
  const present = config.get(["models", "order"]);
  const names = Array.isArray(present) ? present.map(String) : order;
  if (names[0] !== section)
    changes.push([
      ["models", "order"],
      [section, ...names.filter((name) => name !== section)],
    ]);
  if (provider === "ollama") await saveVariables(setup, { OLLAMA_HOST: url });
  else if (provider === "anthropic") await saveVariables(setup, { ANTHROPIC_API_KEY: key });
  else await saveVariables(setup, { OPENAI_API_KEY: key, OPENAI_BASE_URL: url });
  await config.set(changes);
  const name = model === services.defaultModels[provider] ? model : `${labels[provider]}: ${model}`;
  ask.done(`${name} answered in ${(milliseconds / 1000).toFixed(1)} s.`);
}
