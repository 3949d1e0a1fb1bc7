/** What owners read in a direct message when something breaks, and when it works again. */

import { oneLine } from "../lib/text/sanitize.ts";
import { upperFirst } from "../lib/text/sentence.ts";
import { withoutPlace } from "../lib/text/without-place.ts";
import { type HealthCheck, ownerText } from "../ports/health.ts";

export interface ServiceState {
  /** Such as `slack`. */
  name: string;
  isConnected: boolean;
  detail: string;
}

export interface OwnerProblem {
  /** Of the service or the check; `disk` and `model` for all of their kind. */
  name: string;
  text: string;
  /** Another problem says it too, so this one is not told by itself. */
  isTold?: boolean;
}

const maxTextCharacters = 600;

/** The page is not a service: who sees it sees the problem there. */
export function problemsOf(checks: readonly HealthCheck[], services: readonly ServiceState[]): OwnerProblem[] {
  const down = services.filter(({ name, isConnected }) => !isConnected && name !== "local");
  const broken = checks.filter(({ state }) => state === "broken");
  const told = checks.filter(({ state, tellsOwners }) => state !== "ok" && tellsOwners === true);
  // Folders are often on one disk, and every model is a check of its own.
  const byPart = Map.groupBy(broken, ({ name }) => /^(?:disk|model) /.exec(name)?.[0].trim() ?? name);
  return [
    ...down.map(({ name, detail }) => ({ name, text: shortened(withoutPlace(detail)) })),
    ...[...byPart].map(([name, of]) => ({
      name,
      text: kindOf(name) === "model" ? modelLines(of) : shortened(of.map(ownerText).join("; ")),
    })),
    ...told.map((check) => ({
      ...{ name: check.name, text: shortened(ownerText(check)) },
      isTold: check.state === "broken",
    })),
  ];
}

export function brokenText({ name, text }: OwnerProblem): string {
  const again = "I'll write again when that is solved.";
  if (kindOf(name) === "model") return `⚠️ ${consequenceOf(name)}:\n${text}\n\n${again}`;
  return `⚠️ ${consequenceOf(name)}: ${text}. ${again}`;
}

export function worksText({ name }: OwnerProblem): string {
  const kind = kindOf(name);
  switch (kind) {
    case "service":
      return `✅ I'm back on ${upperFirst(name)}.`;
    case "disk":
      return "✅ There is room on the disk again, so I take messages again.";
    case "model":
      return "✅ A model answers again.";
    case "one-model":
      return `✅ ${modelIn(name)} answers again.`;
    case "other":
      return `✅ Solved: ${name}.`;
  }
  return kind satisfies never;
}

export function restartText(startedAt: number): string {
  const time = new Date(startedAt).toISOString().slice(11, 16);
  return `⚠️ I was killed, crashed or lost power, and started again at ${time} UTC. Unfinished work continues. The log says more.`;
}

function consequenceOf(name: string): string {
  const kind = kindOf(name);
  switch (kind) {
    case "service":
      return `I can't work on ${upperFirst(name)}`;
    case "disk":
      return "I can't take new messages";
    case "model":
      return "I can't answer, because no model does";
    case "one-model":
      return `I can't use ${modelIn(name)}`;
    case "other":
      return `Something is wrong here, ${name}`;
  }
  return kind satisfies never;
}

function modelIn(name: string): string {
  return name.replace(/^model /, "");
}

function kindOf(name: string): "service" | "disk" | "model" | "one-model" | "other" {
  if (name === "slack" || name === "discord") return "service";
  if (name.startsWith("model ")) return "one-model";
  return name === "disk" || name === "model" ? name : "other";
}

function modelLines(checks: readonly HealthCheck[]): string {
  return checks.map((check) => `- ${modelIn(check.name)}: ${shortened(ownerText(check))}.`).join("\n");
}

function shortened(text: string): string {
  return oneLine(text, maxTextCharacters).replace(/[.\s]+$/, "");
}
