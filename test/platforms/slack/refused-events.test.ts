/**
 * As in refused-calls.test.ts, for what Slack sends and what people click: each error that a method documents, and one that nobody
 * knows, is given once to each caller. What was said is kept, a click is answered, and nobody reads a name of Slack's.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkSlack } from "../../../src/platforms/slack/doctor.ts";
import { createCard, createPosts, targetOf } from "../../conformance/platform-world.ts";
import type { StoredMessage } from "../../doubles/slack/state.ts";
import { shareOf } from "../../faults/share.ts";
import { changeCard } from "./changes.ts";
import {
  after,
  createRefusing,
  type RefusedCaller,
  type Refusing,
  refusalsOf,
  unknownError,
  withinMs,
} from "./refusing.ts";

const sharesOf = 100;
const told = "What they must be told.";

let modern: Refusing;
/** An app with `assistant_view`, whose DMs are one conversation, so that reactions acknowledge. */
let older: Refusing;
beforeAll(async () => {
  modern = await createRefusing();
  older = await createRefusing({ double: { isAgent: false }, changes: { directMessages: "single" } });
});
afterAll(async () => {
  await modern.close();
  await older.close();
});

let heard = () => true;
/** Says it as somebody new. It must be kept. */
async function says(by: Refusing, more: object = {}): Promise<void> {
  const { slack } = by.world;
  const said = slack.people.say({ as: by.somebody(), in: slack.general, text: "@Remora hello", ...more });
  heard = () => by.agent.kept.some(({ id, isAddressed }) => isAddressed && id === `${said.channel.id}:${said.ts}`);
  await slack.until(heard, withinMs);
}

/** In a new process, because a refusal counts for a while. */
async function fresh({ world, agent }: Refusing, refuse: () => void): Promise<void> {
  await world.restart({ refusedTokenRetryMs: 20 });
  refuse();
  await world.platform.connect(agent.handlers, new AbortController().signal);
  await says(world === modern.world ? modern : older);
}

const noticed = async (more: object = {}) => {
  modern.agent.notice = { text: told };
  await says(modern, more).finally(() => {
    modern.agent.notice = undefined;
  });
};

async function command(text: string): Promise<void> {
  const { slack } = modern.world;
  modern.agent.commandText = told;
  await slack.interactions.command({ as: slack.ann, in: slack.general, command: "/remora", text }).acknowledged();
}

function newest(): StoredMessage {
  return modern.world.slack.state.messages.findLast(
    ({ user }) => user === modern.world.slack.state.app.botUserId,
  ) as StoredMessage;
}

const reply = (by: Refusing) =>
  by.world.platform.reply({ ...targetOf(by.message), turnId: `event${by.turn}` }, createPosts());

/** Clicks on a new card. */
async function clicked(
  refuse: () => void,
  card: Parameters<ReturnType<typeof reply>["ask"]>[0],
  choice: object,
): Promise<void> {
  const { slack } = modern.world;
  await reply(modern).ask({ ...card, id: `card-${modern.turn}` });
  const { ts } = newest();
  modern.agent.receipt = { accepted: true, text: told, file: { name: "a.diff", text: "-old\n+new" } };
  refuse();
  await slack.interactions.click({ as: slack.ann, on: { channel: slack.general, ts }, ...choice }).acknowledged();
}
const diff = (refuse: () => void) => clicked(refuse, changeCard(modern.message), { button: "Show diff" });

async function home(refuse: () => void, actionId: string): Promise<void> {
  const { slack } = modern.world;
  for (const delivery of slack.people.openHome(slack.ann)) await delivery.acknowledged();
  const view = await slack.until(() => slack.views.home(slack.ann), withinMs);
  modern.agent.commandText = told;
  refuse();
  await slack.interactions.clickInView({ as: slack.ann, view, actionId }).acknowledged();
}

/** Operators read the names: each finding says more than that. */
async function examined(): Promise<void> {
  const { botToken, appToken, apiUrl, userToken, ann } = modern.world.slack;
  const access = { botToken, apiUrl, transport: { type: "socket", appToken }, userToken: userToken(ann) } as const;
  const findings = await checkSlack(access, new AbortController().signal);
  expect(findings.length).toBeGreaterThan(2);
  for (const { text } of findings) expect(text).toMatch(/^\S+.* \S+ \S+/s);
}

const callers: Record<string, RefusedCaller> = {
  "a message of somebody new": { method: "users.info", run: after(() => says(modern)), holds: () => heard() },
  "a mention in a new channel": {
    method: "conversations.info",
    run: after(async () => {
      const { slack } = modern.world;
      const members = [slack.ann];
      await says(modern, {
        as: slack.ann,
        in: slack.workspace.addChannel({ name: `new-${modern.turn}`, members }),
        mentionFirst: true,
      });
    }),
  },
  "a message and its session": { method: "agents.sessions.setStatus", run: (refuse) => fresh(modern, refuse) },
  "the start": { method: "auth.test", run: (refuse) => fresh(modern, refuse), holds: () => heard() },
  "the first look at the messages": {
    method: "assistant.threads.setSuggestedPrompts",
    run: after(async () => {
      for (const delivery of modern.world.slack.people.openHome(modern.somebody(), "messages"))
        await delivery.acknowledged();
    }),
  },
  "why there is no answer": { method: "chat.postEphemeral", run: after(() => noticed()), says: told },
  "why there is no answer in a DM": {
    method: "chat.postMessage",
    run: after(() =>
      noticed({ as: modern.world.slack.ann, in: modern.world.slack.workspace.direct(modern.world.slack.ann) }),
    ),
  },
  "the answer to a command": { method: "response_url", run: after(() => command("status")), says: told },
  "the question of a command": {
    method: "chat.postMessage",
    run: after(() => command("ask what is it?")),
    says: /asks|didn't|can't/,
  },
  "a question that is taken back": {
    method: "chat.delete",
    run: after(async () => {
      modern.agent.notice = { text: told };
      await command("ask what is it?");
    }),
    says: told,
  },
  Home: {
    method: "views.publish",
    run: after(async () => {
      for (const delivery of modern.world.slack.people.openHome(modern.somebody())) await delivery.acknowledged();
    }),
    says: /Commands|can't show/,
  },
  "a button of Home": { method: "views.open", run: (refuse) => home(refuse, "home_memory"), says: /didn't work/ },
  "a text in Home's modal": { method: "views.update", run: (refuse) => home(refuse, "home_memory"), says: told },
  "a form of a card": {
    method: "views.open",
    run: (refuse) =>
      clicked(refuse, createCard(modern.message, { choices: ["approve", "deny", "edit"], editJson: "{}" }), {
        option: "Edit…",
      }),
    says: /didn't work/,
  },
  ...Object.fromEntries(
    (
      [
        "auth.test",
        "agents.sessions.setStatus",
        "conversations.list",
        "apps.connections.open",
        "search.messages",
      ] as const
    ).map((method) => [`doctor's ${method}`, { method, run: after(examined) } satisfies RefusedCaller]),
  ),
  "a diff": { method: "views.open", run: diff, says: /new/ },
  "the text of a diff": { method: "views.update", run: diff, says: /new|sent you/ },
};

const olderCallers: Record<string, RefusedCaller> = {
  "a message and the text of its thread": {
    method: "assistant.threads.setStatus",
    run: (refuse) => fresh(older, refuse),
  },
  "a message and its reaction": {
    method: "reactions.add",
    run: after(() =>
      says(older, { in: older.world.slack.workspace.direct(older.world.slack.ann), as: older.world.slack.ann }),
    ),
  },
  "an answer and the reaction of its message": {
    method: "reactions.remove",
    async run(refuse) {
      await says(older, { in: older.world.slack.workspace.direct(older.world.slack.ann), as: older.world.slack.ann });
      const message = older.agent.kept.at(-1);
      if (message === undefined) throw new Error("nothing was kept");
      refuse();
      await older.world.platform
        .reply({ ...targetOf(message), turnId: `event${older.turn}` }, createPosts())
        .finish(told, []);
    },
    says: told,
  },
  "a title": {
    method: "assistant.threads.setTitle",
    async run(refuse) {
      const { slack } = older.world;
      const as = older.somebody();
      const pane = slack.assistant.open(as);
      for (const delivery of pane.deliveries) await delivery.acknowledged();
      refuse();
      await says(older, { as, in: pane.channel, thread: pane.threadTs });
    },
  },
};

const all = [
  ...Object.entries(callers).map(([name, caller]) => ({ name, caller, by: () => modern })),
  ...Object.entries(olderCallers).map(([name, caller]) => ({
    name: `${name} (an older app)`,
    caller,
    by: () => older,
  })),
];
describe.each(all)("$name", ({ caller, by }) => {
  const mine = [...shareOf(refusalsOf(caller.method), caller.shares ?? sharesOf), unknownError];

  test.each(mine)(`is not lost, and nobody reads a name, when ${caller.method} answers %s`, async (error) => {
    await by().check(caller, error);
  });
});
