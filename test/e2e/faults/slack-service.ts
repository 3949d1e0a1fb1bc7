import { createSlackDouble } from "../../doubles/slack/double.ts";
import type { Said } from "../../doubles/slack/people.ts";
import type { Channel, Person } from "../../doubles/slack/state.ts";
import type { ChatService, Place } from "./chat-service.ts";

export async function createSlackService(pingIntervalMs: number): Promise<ChatService> {
  const slack = await createSlackDouble({ pingIntervalMs });
  slack.limits.isEnforced = false;
  slack.redelivery.afterLostSocket = "reconnect";
  const { ann, ben, general } = slack;
  const cleo = slack.workspace.addPerson({ name: "Cleo" });
  const team = slack.workspace.addChannel({ name: "team", members: [ann, ben, cleo] });
  const [withAnn, withBen] = [slack.workspace.direct(ann), slack.workspace.direct(ben)];
  /** The first message begins it. */
  function inOneThread(as: Person, dm: Channel): (text: string) => void {
    let root: Said | undefined;
    return (text) => {
      const said = slack.people.say({ as, in: dm, text, ...(root === undefined ? {} : { thread: root }) });
      root ??= said;
    };
  }
  const thread = slack.people.say({ as: cleo, in: team, text: "Let us talk here." });
  const places: Place[] = [
    { name: "a thread of Ann's DM", isOrdered: true, say: inOneThread(ann, withAnn) },
    { name: "Ben's DM", isOrdered: false, say: (text) => void slack.people.say({ as: ben, in: withBen, text }) },
    {
      ...{ name: "a thread", isOrdered: true },
      say: (text) => void slack.people.say({ as: cleo, in: team, thread, text: `@Remora ${text}` }),
    },
    {
      ...{ name: "a channel", isOrdered: false },
      say: (text) => void slack.people.say({ as: ann, in: general, text: `@Remora ${text}` }),
    },
  ];
  const people = new Map(
    [withAnn, withBen, team, general].map((channel, index) => [channel, [ann, ben, cleo, ann][index] ?? ann]),
  );
  const shownIn = () =>
    [...people.keys()].flatMap((channel) =>
      slack
        .see({ in: channel })
        .filter(({ isAgents, isEphemeral }) => isAgents && !isEphemeral)
        .map((message) => ({ channel, message })),
    );
  const cut = () => slack.fail("*", { type: "cut" });
  return {
    env: { SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken, SLACK_API_URL: slack.apiUrl },
    places,
    newcomer() {
      const as = slack.workspace.addPerson({ name: `Newcomer ${people.size}` });
      const dm = slack.workspace.direct(as);
      people.set(dm, as);
      return { name: as.name, isOrdered: true, say: inOneThread(as, dm) };
    },
    shown: () =>
      shownIn()
        .toSorted((one, other) => Number(one.message.ts) - Number(other.message.ts))
        .map(({ message }) => ({
          id: message.ts,
          text: `${message.readable}\n${message.text}`,
          buttons: message.buttons.map(({ label }) => label),
          files: message.files.map(({ name }) => name),
          isOpen: message.streaming === "in_progress",
        })),
    press(messageId, button) {
      const found = shownIn().find(({ message }) => message.ts === messageId);
      if (found === undefined) throw new Error(`no message ${messageId}`);
      const { channel } = found;
      const as = people.get(channel) ?? ann;
      slack.interactions.click({ as, on: { channel, ts: messageId }, button });
    },
    away: cut,
    gone() {
      const back = cut();
      slack.sockets.refuse = true;
      slack.sockets.cut();
      return () => {
        slack.sockets.refuse = false;
        back();
      };
    },
    refuseToken() {
      const token = slack.tokens.get(slack.botToken);
      if (token === undefined) throw new Error("the double has no bot token");
      token.state = "revoked";
      return () => {
        token.state = "active";
      };
    },
    routes: [
      "chat.postMessage",
      "chat.update",
      "chat.startStream",
      "chat.appendStream",
      "chat.stopStream",
      "conversations.replies",
      "files.completeUploadExternal",
    ],
    failRoute: (route) => slack.fail(route, { type: "http", status: 503 }),
    stop: () => slack.stop(),
  };
}
