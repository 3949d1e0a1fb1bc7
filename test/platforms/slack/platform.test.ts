import type { AnswerChoice } from "../../../src/core/message.ts";
import { choiceActions } from "../../../src/platforms/slack/card-buttons.ts";
import { pickAction } from "../../../src/platforms/slack/question-blocks.ts";
import { describePlatform, type PlatformWorld, type Saying, type ShownMessage } from "../../conformance/platform.ts";
import type { Effect } from "../../doubles/slack/markup.ts";
import type { Said } from "../../doubles/slack/people.ts";
import type { SeenMessage } from "../../doubles/slack/see.ts";
import type { Channel, Person } from "../../doubles/slack/state.ts";
import { createSlackWorld, type WorldOptions } from "./world.ts";

describePlatform("Slack, Socket Mode, native streams", () => createWorld({ transport: "socket" }));
describePlatform("Slack, HTTP, edits", () => createWorld({ transport: "http", changes: { streaming: "edits" } }));

async function createWorld(options: WorldOptions): Promise<PlatformWorld> {
  const world = await createSlackWorld(options);
  const { slack } = world;
  // Slack's own second try would come in between the tests' steps.
  slack.redelivery.isEnabled = false;
  slack.redelivery.acknowledgeWithinMs = 1_000;
  slack.limits.isEnforced = false;
  const people = new Map<string, Person>([["Ann", slack.ann]]);
  const told = new Set<string>();
  let mention: Said | undefined;
  let place: { in: Channel; thread?: string } = { in: slack.general };
  let last: Said | undefined;

  function personOf(name: string): Person {
    const person = people.get(name) ?? slack.workspace.addPerson({ name });
    people.set(name, person);
    slack.general.members.add(person.id);
    return person;
  }

  async function say({ text, where, as = "Ann" }: Saying): Promise<void> {
    const person = personOf(as);
    const channel = where === "dm" ? slack.workspace.direct(person) : slack.general;
    const thread = where === "thread" ? mention : undefined;
    const typed = where === "mention" ? `@Remora ${text}` : text;
    const said = slack.people.say({
      as: person,
      in: channel,
      text: typed,
      ...(thread === undefined ? {} : { thread }),
    });
    if (where === "mention") mention = said;
    last = said;
    place = where === "dm" ? { in: channel } : { in: channel, thread: thread?.ts ?? said.ts };
    await Promise.all(said.deliveries.map((delivery) => delivery.firstAttempt()));
  }

  /** A status is shown below the thread, as a line of the agent's that is no message. */
  function status(): ShownMessage[] {
    const shown = place.thread === undefined ? "" : (slack.assistant.thread(place.in, place.thread)?.status ?? "");
    return shown === "" ? [] : [{ isAgents: true, text: shown, choices: [], files: [] }];
  }

  async function press(kind: "card:" | "question:", actionId: string, value: string, as = "Ann"): Promise<string> {
    const person = personOf(as);
    const message = slack.see(place).find((each) => keyOf(each).startsWith(kind));
    if (message === undefined) throw new Error(`there is no ${kind} to click on`);
    const forged = { actionId, value, blockId: "card-0-2" };
    slack.interactions.click({ as: person, on: { channel: place.in, ts: message.ts }, forged });
    return await slack.until(() => receiptFor(person));
  }

  /** What only the person sees, each once. */
  function receiptFor(person: Person): string | undefined {
    const receipt = slack.see({ ...place, as: person }).find((each) => each.isEphemeral && !told.has(each.ts));
    if (receipt !== undefined) told.add(receipt.ts);
    return receipt?.readable;
  }

  return {
    get platform() {
      return world.platform;
    },
    say,
    async repeat() {
      const again = (last?.deliveries ?? []).map((delivery) => slack.repeat(delivery));
      await Promise.all(again.map((delivery) => delivery.firstAttempt()));
    },
    click: (approvalId, choice, as) => press("card:", choiceActions[choice], approvalId, as),
    pick: (questionId, option, as) => press("question:", `${pickAction}${option}`, questionId, as),
    async shown() {
      return [...slack.see(place).map(shown), ...status()];
    },
    restart: () => world.restart(),
    close: world.close,
  };
}

function keyOf({ metadata }: SeenMessage): string {
  return String((metadata?.event_payload as { key?: unknown } | undefined)?.key ?? "");
}

const choices = new Map(Object.entries(choiceActions).map(([choice, action]) => [action, choice as AnswerChoice]));

function shown(message: SeenMessage): ShownMessage {
  return {
    isAgents: message.isAgents,
    text: message.readable.replaceAll("&lt;", "<"),
    choices: message.buttons.flatMap(({ actionId }) => choices.get(actionId) ?? []),
    options: message.buttons.flatMap(({ actionId, label }) => (actionId.startsWith(pickAction) ? [label] : [])),
    files: message.files.map(({ name, content }) => ({ name, content })),
    effects: message.effects.filter(isHarmful).map((effect) => JSON.stringify(effect)),
  };
}

/** An address that shows itself as a link hides nothing and reaches nobody. */
function isHarmful(effect: Effect): boolean {
  return effect.type === "link" ? effect.label !== undefined : true;
}
