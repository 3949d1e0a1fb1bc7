/** Builds transcription from the settings. */
import { transcriptionSettings } from "../config/derive.ts";
import type { Transcribe } from "../ports/turn-files.ts";
import type { UsageMeter } from "../ports/usage.ts";
import { createTranscription } from "../transcription/transcribe.ts";
import { createPaidTranscription } from "../usage/paid-transcription.ts";
import { shippedMinutePrices } from "../usage/price-table.ts";
import type { AppOptions } from "./options.ts";
import type { State } from "./state.ts";

const openAiHost = "api.openai.com";

/** Undefined if it is off. */
export function buildTranscription(
  { settings, log }: AppOptions,
  { events }: State,
  usage: UsageMeter,
): Transcribe | undefined {
  const wanted = transcriptionSettings(settings);
  if (wanted === null) return undefined;
  const provider = URL.parse(wanted.baseUrl)?.host === openAiHost ? "openai" : "transcription";
  const model = `${provider}/${wanted.model}`;
  const listen = createTranscription({ ...wanted, events, log });
  return createPaidTranscription({ listen, model, dollarsPerMinute: shippedMinutePrices[model], usage });
}
