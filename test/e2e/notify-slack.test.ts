/** Reaching the people who can answer a card, through Slack. */
import { createSlackDouble } from "../doubles/slack/double.ts";
import type { SeenMessage } from "../doubles/slack/see.ts";
import type { Channel, Person, StoredView } from "../doubles/slack/state.ts";
import { type NotifyDriver, type Seen, tellNotifications } from "./notify-story.ts";

async function createDriver(): Promise<NotifyDriver> {
  const slack = await createSlackDouble();
  // Each restart reads what was missed, which would reach the limits of calls per minute.
  slack.limits.isEnforced = false;
  const [cara, dora] = [slack.workspace.addPerson({ name: "Cara" }), slack.workspace.addPerson({ name: "Dora" })];
  const people: Record<string, Person> = { ann: slack.ann, ben: slack.ben, cara, dora };
  const group = slack.workspace.addGroup("ops", [slack.ben]);
  const personCalled = (name: string) => people[name] ?? slack.ann;
  const names = new Map([...Object.entries(people).map(([name, { id }]) => [id, name] as const), [group.id, "ops"]]);

  const messages = new Map<string, SeenMessage>();
  function seen(channel: Person | undefined, message: SeenMessage): Seen {
    messages.set(message.ts, message);
    return {
      id: message.ts,
      text: message.readable,
      pings: message.pings.map((id) => names.get(id) ?? id),
      buttons: message.buttons.map(({ label }) => label),
      place: channel === undefined ? "thread" : (names.get(channel.id) ?? ""),
    };
  }
  const channelOf = ({ place }: Seen) =>
    place === "thread" ? slack.general : slack.workspace.direct(personCalled(place));
  const receipts = (name: string, channel: Channel) =>
    slack.see({ in: channel, as: personCalled(name) }).filter(({ isEphemeral }) => isEphemeral);
  const agents = (message: SeenMessage) => message.isAgents;

  return {
    env: () => ({ SLACK_BOT_TOKEN: slack.botToken, SLACK_API_URL: slack.apiUrl, SLACK_APP_TOKEN: slack.appToken }),
    approver: (name) => `user:slack:${personCalled(name).id}`,
    role: `role:${group.id}`,
    channel: `slack:${slack.ann.teamId}:${slack.general.id}`,
    close: () => slack.stop(),
    until: (find) => slack.until(find, 60_000) as never,
    async ask(text) {
      const said = slack.people.say({ as: slack.ann, in: slack.general, text: `@Remora ${text}` });
      return {
        thread: () =>
          slack
            .see({ in: slack.general, thread: said.ts })
            .filter(agents)
            .map((each) => seen(undefined, each)),
      };
    },
    remove(name, from) {
      if (from === "workspace") {
        personCalled(name).isDeleted = true;
      } else {
        // Members of the workspace can read a public channel without being in it.
        slack.general.type = "group";
        slack.people.leave(personCalled(name), slack.general);
      }
    },
    openChannel(isOpen) {
      if (isOpen) delete slack.general.refuses;
      else slack.general.refuses = "refused_in_a_new_way";
    },
    openDms(_name, areOpen) {
      if (!areOpen) slack.failNext("conversations.open", { type: "error", error: "user_disabled" });
    },
    // Slack has no list of allowed mentions: a message may ping everybody whom it mentions.
    allowed({ id }) {
      const blocks = JSON.stringify(messages.get(id)?.blocks ?? []);
      const found = [...blocks.matchAll(/"(?:user_id|usergroup_id|range)":"(\w+)"/g)].map(([, named = ""]) => named);
      return found.map((named) => names.get(named) ?? named);
    },
    dm(name) {
      const person = personCalled(name);
      return slack
        .see({ in: slack.workspace.direct(person) })
        .filter(agents)
        .map((each) => seen(person, each));
    },
    async click(name, on, button) {
      const [as, channel] = [personCalled(name), channelOf(on)];
      const before = receipts(name, channel).length;
      await slack.interactions.click({ as, on: { channel, ts: on.id }, button }).acknowledged();
      return (await slack.until(() => receipts(name, channel)[before], 60_000)).readable;
    },
    async handOver(name, on, to) {
      const opened = slack.views.stack(personCalled(name)).at(-1);
      const [as, channel] = [personCalled(name), channelOf(on)];
      const before = receipts(name, channel).length;
      await slack.interactions.click({ as, on: { channel, ts: on.id }, option: "Hand over…" }).acknowledged();
      const isNew = (view: StoredView | undefined) => view !== undefined && view !== opened;
      const view = await slack.until(() => [slack.views.stack(as).at(-1)].find(isNew), 60_000);
      const person = { type: "users_select", selected_user: personCalled(to).id };
      await slack.interactions.submit({ as, view, values: { person } }).acknowledged();
      const told = () => view.errors.person ?? receipts(name, channel)[before]?.readable;
      return await slack.until(told, 60_000);
    },
  };
}

tellNotifications("Slack", createDriver, ["card-posted", "note-posted"]);
