/** Fetches the files of the turn's messages, a few at a time, and saves each batch in the turn's record. */
import type { InboundMessage } from "../../ports/message.ts";
import { payerOf } from "../../ports/usage.ts";
import { plainValue } from "./tool-phrases.ts";
import type { TurnRun } from "./turn-store.ts";
import { placeFile } from "./voice.ts";

const maxParallelFiles = 3;
/** Smaller files arrive before anybody could read the status line. */
const minAnnouncedBytes = 1024 * 1024;
const maxShownNameCharacters = 80;

export async function gatherFiles(run: TurnRun): Promise<void> {
  const waiting = run.turn.messages.flatMap(waitingFiles);
  for (let first = 0; first < waiting.length; first += maxParallelFiles) {
    const batch = waiting.slice(first, first + maxParallelFiles);
    const large = batch.find(({ bytes }) => bytes >= minAnnouncedBytes);
    if (large !== undefined) run.progress.phase(`Reading ${plainValue(large.name, maxShownNameCharacters)}`);
    await Promise.all(batch.map((file) => fetchFile(run, file)));
    await run.save();
  }
}

function waitingFiles(message: InboundMessage) {
  return message.attachments.flatMap(({ source, name, bytes }, index) =>
    source === undefined ? [] : [{ message, index, name, bytes }],
  );
}

async function fetchFile({ turn, deps, signal }: TurnRun, { message, index }: ReturnType<typeof waitingFiles>[number]) {
  const { workingFolder } = turn;
  const file = await deps.files.fetch({ message, index, workingFolder, payer: payerOf(turn) }, signal);
  placeFile(message, index, file, deps.limits.messageCharacters);
}
