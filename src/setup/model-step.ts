/** The model: who answers, with which key, tested by one call. */
import { RemoraError } from "../lib/errors.ts";
import { enterSecret } from "./enter-secret.ts";
import { keyFormProblem } from "./key-form.ts";
import { chooseCompatible, chooseOllama, enterModelName, modelCodes } from "./model-servers.ts";
import { modelInForce, modelLabels, saveModel } from "./save-model.ts";
import { masked, type ProviderName, type Setup, variable } from "./services.ts";

export async function chooseModel(setup: Setup): Promise<void> {
  const { ask, flags } = setup;
  const chosen = flags.provider ?? (await selectProvider(setup, presentProvider(setup)));
  if (chosen === "keep" || chosen === "demo") return;
  const isSet = await connect(setup, chosen);
  if (!isSet)
    ask.warn(
      "No model is set up yet. Until then, a demo without AI answers on the page, and nothing answers in Slack or Discord.",
    );
}

async function connect(setup: Setup, provider: ProviderName): Promise<boolean> {
  switch (provider) {
    case "ollama":
      return await chooseOllama(setup);
    case "compatible":
      return await chooseCompatible(setup);
    case "anthropic":
    case "openai":
      return await enterKey(setup, provider);
    default:
      return provider satisfies never;
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
  const kept = present === undefined ? "" : `${modelLabels[present]}${key === undefined ? "" : `, key ${masked(key)}`}`;
  return await setup.ask.select<ProviderName | "keep" | "demo">({
    message: "Which model should answer?",
    flag: "--provider",
    initial: present === undefined ? (setup.ask.isInteractive ? "anthropic" : "demo") : "keep",
    choices: [
      ...(present === undefined ? [] : [{ value: "keep" as const, label: `Keep ${kept}` }]),
      { value: "anthropic", label: modelLabels.anthropic, hint: "needs a key from console.anthropic.com" },
      { value: "openai", label: modelLabels.openai, hint: "needs a key from platform.openai.com" },
      { value: "ollama", label: modelLabels.ollama, hint: "runs on this machine or in your network" },
      { value: "compatible", label: modelLabels.compatible, hint: "needs its address, and maybe a key" },
      { value: "demo", label: "None for now", hint: "a demo without AI, only on the page" },
    ],
  });
}

function keyName(provider: "anthropic" | "openai" | "compatible"): string {
  return provider === "anthropic" ? "ANTHROPIC_API_KEY" : "OPENAI_API_KEY";
}

/** A key that is set for a compatible server is never sent to OpenAI. */
async function enterKey(setup: Setup, provider: "anthropic" | "openai"): Promise<boolean> {
  const { ask, flags, services } = setup;
  let model = flags.model ?? modelInForce(setup, provider);
  const check = (key: string) => services.checkModel({ provider, model, key, url: undefined });
  const accepted = await enterSecret(setup, {
    name: keyName(provider),
    what: "key",
    message: `Paste the API key for ${modelLabels[provider]} (press Enter to skip)`,
    flag: "--model-key-file",
    file: flags.modelKeyFile,
    isNew: provider === "openai" && variable(setup, "OPENAI_BASE_URL") !== undefined,
    doing: `Testing the key with ${model}`,
    async check(key) {
      const wrong = keyFormProblem(provider, key);
      if (wrong !== undefined) return wrong;
      for (;;) {
        const checked = await check(key);
        if (checked.ok || !modelCodes.test(checked.code)) return checked;
        const said = `${checked.problem}\n${checked.fix}`;
        if (!ask.isInteractive)
          throw new RemoraError({ code: checked.code, place: "--model", message: said.replaceAll("\n", " ") });
        ask.warn(said);
        const entered = await enterModelName(setup, model);
        // Perhaps it is the key.
        if (entered === model) return checked;
        model = entered;
      }
    },
  });
  if (accepted === undefined) return false;
  await saveModel(setup, { provider, model, key: accepted.secret, url: undefined }, accepted);
  return true;
}
