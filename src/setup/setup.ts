/**
 * `remora init`: from a fresh clone to an agent that has answered its first mention. Every answer is kept at once, so it
 * can be interrupted at any step, and suggests the earlier answers when it runs again.
 */
import type { Agent } from "./agent-process.ts";
import { chooseApprovers } from "./approvers-step.ts";
import { type Ask, SetupCancelled } from "./ask.ts";
import { connectDiscord } from "./discord-step.ts";
import { type FirstMention, waitForFirstMention } from "./first-mention.ts";
import { chooseFolders } from "./folders-step.ts";
import { chooseModel } from "./model-step.ts";
import { choosePort, takePort } from "./port-step.ts";
import { type Setup, variable } from "./services.ts";
import { connectSlack } from "./slack-step.ts";

export interface SetupRun {
  root: string;
  /** Undefined: only write the settings. */
  start: FirstMention["start"] | undefined;
  signal: AbortSignal;
}

/** Resolves with the running agent, if it was started. */
export async function runSetup(setup: Setup, { root, start, signal }: SetupRun): Promise<Agent | undefined> {
  const { ask } = setup;
  ask.title("Remora setup");
  if (ask.isInteractive) ask.say("Each answer is saved at once. Press Ctrl+C to stop, and run this again to continue.");
  await setup.config.ensure();
  await setup.envFile.set({});
  const { slack, discord, isSuggesting } = await askAll({ ...setup, ask: cancelledBy(signal, ask) }, root);
  ask.done(`Saved in ${setup.envFile.path} and ${setup.config.path}`);
  if (start === undefined) {
    ask.end("Start with: npm start");
    return undefined;
  }
  const agent = await waitForFirstMention(setup, {
    start,
    slackName: slack?.botName,
    discordName: discord?.name,
    isSuggesting,
    signal,
  });
  if (agent === undefined) return undefined;
  ask.say(
    [
      ...(agent.page === undefined ? [] : [`Page and dashboard: ${agent.page}`]),
      "To run it in the background instead: press Ctrl+C, then npm run -s remora -- service install",
    ].join("\n"),
  );
  ask.end("Remora is running. Ctrl+C stops it; npm start starts it again.");
  return agent;
}

async function askAll(setup: Setup, root: string) {
  await takePort(setup);
  await chooseModel(setup);
  const services = await chooseServices(setup);
  const slack = services.includes("slack") ? await connectSlack(setup) : undefined;
  const discord = services.includes("discord") ? await connectDiscord(setup) : undefined;
  const isSuggesting = await chooseApprovers(setup, { slack, discord });
  await chooseFolders(setup, root);
  await choosePort(setup);
  await setup.envFile.set({ [placeMark]: undefined });
  return { slack, discord, isSuggesting };
}

/** Ctrl+C also ends the wait for a service that does not answer. Nothing of such a wait has to be cleaned up. */
function cancelledBy(signal: AbortSignal, ask: Ask): Ask {
  const cancelled = new Promise<never>((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(new SetupCancelled()), { once: true });
  });
  cancelled.catch(() => {});
  return { ...ask, during: (doing, work) => Promise.race([ask.during(doing, work), cancelled]) };
}

type Service = "slack" | "discord";
const places = ["slack", "discord", "both", "page"] as const;
type Place = (typeof places)[number];
/** Keeps the answer until the setup is complete. */
const placeMark = "CHOSEN_PLACE";

async function chooseServices(setup: Setup): Promise<readonly Service[]> {
  const { ask, envFile } = setup;
  if (!ask.isInteractive) return ["slack", "discord"];
  const hasSlack = (variable(setup, "SLACK_BOT_TOKEN") ?? envFile.held("SLACK_BOT_TOKEN")) !== undefined;
  const hasDiscord = variable(setup, "DISCORD_TOKEN") !== undefined;
  const both: readonly Service[] = ["slack", "discord"];
  const held = envFile.held(placeMark);
  const before = places.find((place) => place === held);
  const chosen = await ask.select<Place>({
    message: "Where will people talk to Remora?",
    flag: "--slack-bot-token-file",
    initial: before ?? (hasSlack && hasDiscord ? "both" : hasDiscord ? "discord" : "slack"),
    choices: [
      { value: "slack", label: "Slack", hint: hasSlack ? "has a token" : "about three minutes" },
      { value: "discord", label: "Discord", hint: hasDiscord ? "has a token" : "about two minutes" },
      { value: "both", label: "Slack and Discord" },
      { value: "page", label: "Only on the page on this machine" },
    ],
  });
  await envFile.hold(placeMark, chosen);
  if (chosen === "page") return [];
  return chosen === "both" ? both : [chosen];
}
