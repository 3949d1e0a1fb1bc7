/** Names where the text in a turn's prompts came from that its requester did not write. */
import { distinctOrigins, originText } from "../ports/origin.ts";
import type { StepRecord } from "../ports/turn.ts";

export function originsOfSteps(steps: readonly StepRecord[]): string[] {
  return distinctOrigins(steps.flatMap(({ untrusted }) => untrusted ?? [])).map(originText);
}
