/** Finds the one model that plays tasks, and proves that it answers. The demo is no AI, so there is nothing to judge. */
import { providerSettings } from "../config/derive.ts";
import type { Settings } from "../config/settings.ts";
import { checkModelCall } from "../health/model-call.ts";
import { RemoraError } from "../lib/errors.ts";
import { createProviders } from "../providers/select.ts";

const probeTimeoutMs = 5_000;
/** Long enough to load a local model. */
const callTimeoutMs = 120_000;
const advice = "Name one with --model provider/model, and set its key or address (docs/models.md)";

/** As `provider/model`. */
export async function usableModel(settings: Settings, signal = new AbortController().signal): Promise<string> {
  const within = (milliseconds: number) => AbortSignal.any([signal, AbortSignal.timeout(milliseconds)]);
  const { providers, statuses } = await createProviders(providerSettings(settings), within(probeTimeoutMs));
  signal.throwIfAborted();
  const [wanted] = settings.preferredModel?.split("/", 1) ?? [];
  const status = statuses.find(({ name }) => name === wanted);
  if (status?.isReady === false) throw unusable(`${status.model} can't be used: ${status.hint}`);
  const [first] = providers;
  if (first === undefined || first.name === "demo") {
    const others = statuses.filter(({ name }) => name !== "demo").map(({ model, hint }) => `${model}: ${hint}`);
    throw unusable(
      `only the demo answers, which is no AI, so there is nothing to judge (${others.join("; ")}). ${advice}`,
    );
  }
  const checked = await checkModelCall(first, { signal: within(callTimeoutMs) });
  signal.throwIfAborted();
  if (!checked.ok) throw unusable(`${checked.problem} ${checked.fix}`.trim());
  return first.model;
}

function unusable(message: string): RemoraError {
  return new RemoraError({ code: "eval.no-model", place: "model", message });
}
