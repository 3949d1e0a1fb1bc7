import { actionOf, choiceOf, readMore } from "../../../src/platforms/slack/outbound/cards/card-buttons.ts";
import { pickAction } from "../../../src/platforms/slack/outbound/question.ts";
import type { AnswerChoice } from "../../../src/ports/message.ts";
import { describePlatform } from "../../conformance/platform.ts";
import { describePlatformAttacks } from "../../conformance/platform-attacks.ts";
import { type ChangesWorld, describePlatformChanges } from "../../conformance/platform-changes.ts";
import type { Saying, ShownMessage } from "../../conformance/platform-world.ts";
import type { Effect } from "../../doubles/slack/markup.ts";
import type { Said } from "../../doubles/slack/people.ts";
import { readableView, type SeenMessage } from "../../doubles/slack/see.ts";
import type { Channel, Person, StoredView } from "../../doubles/slack/state.ts";
import { type JsonObject, objectsIn } from "../../doubles/slack/wire.ts";
import { createSlackWorld, type WorldOptions } from "./world.ts";

describePlatform("Slack, Socket Mode, native streams", () => createWorld({ transport: "socket" }));
describePlatformAttacks("Slack, Socket Mode, native streams", () => createWorld({ transport: "socket" }));
describePlatform("Slack, HTTP, edits", () => createWorld({ transport: "http", changes: { streaming: "edits" } }));
describePlatformAttacks("Slack, HTTP, edits", () =>
  createWorld({ transport: "http", changes: { streaming: "edits" } }),
);
describePlatformChanges("Slack, Socket Mode", () => createWorld({ transport: "socket" }));
describePlatformChanges("Slack, HTTP", () => createWorld({ transport: "http", changes: { streaming: "edits" } }));

const patienceMs = 60_000;

async function createWorld(options: WorldOptions): Promise<ChangesWorld> {
  const world = await createSlackWorld(options);
  const { slack } = world;
  // Slack's own second try would come in between the tests' steps.
  slack.redelivery.isEnabled = false;
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

  async function say({ text, where, as = "Ann", acknowledgeWithinMs = patienceMs }: Saying): Promise<void> {
    slack.redelivery.acknowledgeWithinMs = acknowledgeWithinMs;
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

  function press(kind: "card:" | "question:", actionId: string, value: string, person: Person): void {
    const message = slack.see(place).find((each) => keyOf(each).startsWith(kind));
    if (message === undefined) throw new Error(`there is no ${kind} to click on`);
    const forged = { actionId, value, blockId: "card-0-2" };
    slack.interactions.click({ as: person, on: { channel: place.in, ts: message.ts }, forged });
  }

  async function receipt(person: Person): Promise<string> {
    return await slack.until(() => receiptFor(person));
  }

  /** In a modal, or beside it as a file in the person's DM. */
  async function diffFor(person: Person): Promise<string> {
    const shownText = await slack.until(() => receiptFor(person) ?? modalText(topView(person)));
    const files = slack.see({ in: slack.workspace.direct(person) }).flatMap((message) => message.files);
    return [shownText, ...files.map(({ content }) => content)].join("\n");
  }

  function topView(person: Person): StoredView | undefined {
    return slack.views.stack(person).at(-1);
  }

  async function choose(approvalId: string, parts: number[], as = "Ann"): Promise<string> {
    const person = personOf(as);
    press("card:", actionOf("part"), approvalId, person);
    const view = await slack.until(() => topView(person));
    slack.interactions.submit({ as: person, view, values: ticked(view, parts) });
    return await slack.until(() => receiptFor(person) ?? (Object.values(view.errors).join("\n") || undefined));
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
      slack.redelivery.acknowledgeWithinMs = patienceMs;
      const again = (last?.deliveries ?? []).map((delivery) => slack.repeat(delivery));
      await Promise.all(again.map((delivery) => delivery.firstAttempt()));
    },
    async click(approvalId, choice, as = "Ann") {
      const person = personOf(as);
      press("card:", actionOf(choice), approvalId, person);
      return choice === "diff" ? await diffFor(person) : await receipt(person);
    },
    choose,
    async pick(questionId, option, as = "Ann") {
      const person = personOf(as);
      press("question:", `${pickAction}${option}`, questionId, person);
      return await receipt(person);
    },
    async shown() {
      return slack.see(place).map(shown);
    },
    restart: () => world.restart(),
    close: world.close,
  };
}

function keyOf({ metadata }: SeenMessage): string {
  return String((metadata?.event_payload as { key?: unknown } | undefined)?.key ?? "");
}

function shown(message: SeenMessage): ShownMessage {
  return {
    isAgents: message.isAgents,
    // While nothing is written, people read the title of the plan.
    text: (message.readable || String(message.blocks.find(({ type }) => type === "plan")?.title ?? "")).replaceAll(
      "&lt;",
      "<",
    ),
    choices: [
      ...message.buttons.flatMap(({ actionId }) => choiceOf(actionId) ?? []),
      ...message.options.flatMap(({ value }) => menuChoice(value) ?? []),
    ],
    labels: [
      ...message.buttons.flatMap(({ actionId, label }) => (choiceOf(actionId) === undefined ? [] : [label])),
      ...message.options.flatMap(({ value, label }) => (menuChoice(value) === undefined ? [] : [label])),
    ],
    options: message.buttons.flatMap(({ actionId, label }) => (actionId.startsWith(pickAction) ? [label] : [])),
    files: message.files.map(({ name, content }) => ({ name, content })),
    effects: message.effects.filter(isHarmful).map((effect) => JSON.stringify(effect)),
  };
}

function menuChoice(value: string): AnswerChoice | undefined {
  const choice = readMore(value)?.choice;
  return choice === "reason" ? undefined : choice;
}

/** Once it shows more than that it waits. */
function modalText(view: StoredView | undefined): string | undefined {
  const text = view === undefined ? "" : readableView(view.view);
  return text === "" || text.startsWith("One moment") ? undefined : text;
}

/** Exactly these files, as the client sends it. */
function ticked(view: StoredView, parts: number[]): Record<string, JsonObject> {
  const groups = objectsIn(view.view.blocks).filter((block) => block.type === "input");
  const entries = groups.map(({ element }) => {
    const { action_id: id, options } = element as JsonObject;
    const chosen = objectsIn(options).filter((option) => parts.includes(Number(option.value)));
    return [String(id), { type: "checkboxes", selected_options: chosen }] as const;
  });
  return Object.fromEntries(entries);
}

/** An address that shows itself as a link hides nothing and reaches nobody. */
function isHarmful(effect: Effect): boolean {
  return effect.type === "link" ? effect.label !== undefined : true;
}
