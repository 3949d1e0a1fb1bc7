/** Slack's double delivers to the real Bolt, over sockets and over HTTP. The Web API's rules are in slack/*.test.ts. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { App } from "@slack/bolt";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { type BoltApp, connectHttpApp, connectSocketApp, createDirectClient } from "./slack/bolt-app.ts";
import { createRunningClock, createStandingClock } from "./slack/clock.ts";
import { createSlackDouble, type SlackDouble, type SlackDoubleOptions } from "./slack/double.ts";
import type { JsonObject } from "./slack/wire.ts";

let slack: SlackDouble;
let apps: BoltApp[] = [];

async function begin(options: SlackDoubleOptions = {}): Promise<void> {
  slack = await createSlackDouble(options);
}
afterEach(async () => {
  for (const app of apps) await app.stop();
  apps = [];
  await slack.stop();
});

const transports = { sockets: connectSocketApp, HTTP: connectHttpApp };

async function connect(transport: keyof typeof transports, prepare: (app: App) => void): Promise<App> {
  const connected = await transports[transport](slack, prepare);
  apps.push(connected);
  return connected.app;
}

const eventOf = (delivery: { payload: JsonObject } | undefined) => delivery?.payload.event as JsonObject;
const plain = (text: string) => ({ type: "plain_text" as const, text });

const card = [
  { type: "section" as const, text: { type: "mrkdwn" as const, text: "Run it?" } },
  {
    type: "actions" as const,
    block_id: "choices",
    elements: [
      {
        type: "button" as const,
        action_id: "approve:1",
        text: plain("Approve"),
        style: "primary" as const,
        value: "1",
      },
      { type: "button" as const, action_id: "deny:1", text: plain("Deny"), value: "1" },
    ],
  },
];

describe.each(["sockets", "HTTP"] as const)("over %s", (transport) => {
  beforeEach(() => begin());

  test("a mention arrives as two events with one ts, and its answer is visible in the thread", async () => {
    const heard: JsonObject[] = [];
    await connect(transport, (app) => {
      app.message(async ({ message }) => void heard.push(message as unknown as JsonObject));
      app.event("app_mention", async ({ event, say }) => {
        heard.push(event as unknown as JsonObject);
        await say({ text: `you said ${event.text}`, thread_ts: event.ts });
      });
    });
    const said = slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora is 1 < 2?" });
    await said.acknowledged();
    const answer = await slack.until(() => slack.see({ in: slack.general, thread: said.ts })[1]);
    expect(answer).toMatchObject({ isAgents: true, threadTs: said.ts });
    expect(answer.readable).toContain("is 1 < 2?");
    const mentioned = `<@${slack.workspace.app.id}> is 1 &lt; 2?`;
    expect(said.deliveries.map((delivery) => eventOf(delivery))).toMatchObject([
      { type: "message", channel_type: "channel", text: mentioned, ts: said.ts, user: slack.ann.id },
      { type: "app_mention", text: mentioned, ts: said.ts },
    ]);
    expect(new Set(said.deliveries.map((delivery) => delivery.eventId)).size).toBe(2);
    expect(heard.map((event) => event.type).sort()).toEqual(["app_mention", "message"]);
  });

  test("a button opens a modal, and its submission updates the card", async () => {
    const submitted: unknown[] = [];
    await connect(transport, (app) => {
      app.event("app_mention", async ({ say }) => void (await say({ text: "Run it?", blocks: card })));
      app.action("approve:1", async ({ ack, body, client }) => {
        await ack();
        if (body.type !== "block_actions") return;
        await client.views.open({
          trigger_id: body.trigger_id,
          view: {
            type: "modal",
            callback_id: "edit",
            private_metadata: body.container.message_ts,
            title: plain("Edit"),
            submit: plain("Run"),
            blocks: [
              {
                type: "input",
                block_id: "arguments",
                label: plain("Arguments"),
                element: { type: "plain_text_input", action_id: "json", initial_value: "{}" },
              },
            ],
          },
        });
      });
      app.view("edit", async ({ ack, view, client }) => {
        const value = view.state.values.arguments?.json?.value;
        submitted.push(value);
        if (value === "{") {
          await ack({ response_action: "errors", errors: { arguments: "not JSON" } });
          return;
        }
        await ack();
        await client.chat.update({ channel: slack.general.id, ts: view.private_metadata, text: "Done" });
      });
    });
    slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora go" });
    const { ts } = await slack.until(() => slack.see({ in: slack.general }).find((one) => one.buttons.length === 2));
    const click = slack.interactions.click({ as: slack.ben, on: { channel: slack.general, ts }, button: "Approve" });
    await click.acknowledged();
    expect(click.delivery.payload).toMatchObject({
      type: "block_actions",
      user: { id: slack.ben.id, username: "ben", team_id: slack.ben.teamId },
      container: { type: "message", message_ts: ts, channel_id: slack.general.id, is_ephemeral: false },
      actions: [{ action_id: "approve:1", block_id: "choices", value: "1", type: "button", style: "primary" }],
      message: { ts, text: "Run it?" },
    });
    const view = await slack.until(() => slack.views.stack(slack.ben)[0]);
    await slack.interactions.submit({ as: slack.ben, view, values: { json: "{" } }).acknowledged();
    expect(view).toMatchObject({ state: "open", errors: { arguments: "not JSON" } });
    await slack.interactions.submit({ as: slack.ben, view }).acknowledged();
    expect(submitted).toEqual(["{", "{}"]);
    expect(slack.views.stack(slack.ben)).toEqual([]);
    const rewritten = await slack.until(() => slack.see({ in: slack.general }).find((one) => one.text === "Done"));
    expect(rewritten).toMatchObject({ ts, isEdited: true, blocks: [], buttons: [] });
  });

  test("a command's response is private, and its response URL can post to everyone", async () => {
    await connect(transport, (app) => {
      app.command("/remora", async ({ ack, respond, command }) => {
        await ack(`only you see this, ${command.user_name}`);
        await respond({ response_type: "in_channel", text: `status: ${command.text}` });
      });
    });
    const command = { as: slack.ann, in: slack.general, command: "/remora", text: "fine" };
    await slack.interactions.command(command).acknowledged();
    await slack.until(() => slack.see({ in: slack.general }).length === 1);
    expect(slack.see({ in: slack.general, as: slack.ann }).map((one) => [one.text, one.isEphemeral])).toEqual([
      ["only you see this, ann", true],
      ["status: fine", false],
    ]);
    expect(slack.see({ in: slack.general, as: slack.ben }).map((one) => one.text)).toEqual(["status: fine"]);
  });

  test("an unacknowledged command fails visibly and is not sent again", async () => {
    await connect(transport, () => {});
    const command = slack.interactions.command({ as: slack.ann, in: slack.general, command: "/other" });
    await slack.until(() => slack.calls.length > 0 || slack.sockets.opened() > 0);
    slack.clock.advance(3001);
    await expect(command.acknowledged()).rejects.toThrow("not acknowledged");
    await slack.until(() => slack.see({ in: slack.general, as: slack.ann }).length === 1);
    expect(slack.see({ in: slack.general, as: slack.ann })[0]?.text).toBe(
      '/other failed with the error "operation_timeout"',
    );
    expect(command.delivery.attempts).toHaveLength(1);
  });

  test("an invalid response is reported to the person", async () => {
    await connect(transport, (app) => {
      app.command(
        "/remora",
        async ({ ack }) => void (await ack({ blocks: [{ type: "divider", block_id: "a".repeat(256) }] })),
      );
      app.view(
        "edit",
        async ({ ack }) => void (await ack({ response_action: "update", view: { type: "home", blocks: [] } })),
      );
    });
    const command = slack.interactions.command({ as: slack.ann, in: slack.general, command: "/remora" });
    await command.acknowledged();
    const told = await slack.until(() => slack.see({ in: slack.general, as: slack.ann })[0]);
    expect(told.text).toBe('/remora failed with the error "invalid_command_response"');
    const { client } = createDirectClient(slack);
    const modal = { type: "modal" as const, callback_id: "edit", title: plain("Edit"), blocks: [{ type: "divider" }] };
    await client.views.open({ trigger_id: command.triggerId, view: modal });
    const view = await slack.until(() => slack.views.stack(slack.ann)[0]);
    await slack.interactions.submit({ as: slack.ann, view }).acknowledged();
    await slack.until(() => view.failure !== undefined);
    expect(view).toMatchObject({ state: "open", failure: "invalid_arguments", view: { callback_id: "edit" } });
  });

  test("modals can be stacked, updated and cleared, and their buttons work", async () => {
    const modal = (title: string) => ({
      type: "modal" as const,
      callback_id: "edit",
      title: plain(title),
      submit: plain("OK"),
      blocks: [{ ...card[1], type: "actions" as const, elements: card[1]?.elements ?? [] }],
    });
    const titles = () => slack.views.stack(slack.ann).map((view) => (view.view.title as JsonObject).text);
    await connect(transport, (app) => {
      app.command("/remora", async ({ ack }) => void (await ack()));
      app.action("approve:1", async ({ ack, body, client }) => {
        await ack();
        if (body.type === "block_actions") await client.views.push({ trigger_id: body.trigger_id, view: modal("Two") });
      });
      app.view("edit", async ({ ack, view }) => {
        await ack(
          view.title.text === "Three"
            ? { response_action: "clear" }
            : { response_action: "update", view: modal("Three") },
        );
      });
    });
    const { client } = createDirectClient(slack);
    const { triggerId } = slack.interactions.command({ as: slack.ann, in: slack.general, command: "/remora" });
    await client.views.open({ trigger_id: triggerId, view: modal("One") });
    const [one] = slack.views.stack(slack.ann);
    if (one === undefined) throw new Error("no view");
    await slack.interactions.clickInView({ as: slack.ann, view: one, actionId: "approve:1" }).acknowledged();
    const two = await slack.until(() => slack.views.stack(slack.ann)[1]);
    expect(titles()).toEqual(["One", "Two"]);
    await slack.interactions.submit({ as: slack.ann, view: two }).acknowledged();
    await slack.until(() => titles()[1] === "Three");
    await slack.interactions.submit({ as: slack.ann, view: two }).acknowledged();
    await slack.until(() => titles().length === 0);
  });

  test("a button on an ephemeral message arrives without the message, and its URL replaces it", async () => {
    await connect(transport, (app) => {
      app.action("approve:1", async ({ ack, respond, body }) => {
        await ack();
        await respond({ replace_original: true, text: "message" in body ? "with a message" : "without one" });
      });
    });
    const { client } = createDirectClient(slack);
    await client.chat.postEphemeral({ channel: slack.general.id, user: slack.ann.id, text: "Run it?", blocks: card });
    const [shown] = slack.see({ in: slack.general, as: slack.ann });
    const on = { channel: slack.general, ts: shown?.ts ?? "" };
    await slack.interactions.click({ as: slack.ann, on, button: "Approve" }).acknowledged();
    await slack.until(() => slack.see({ in: slack.general, as: slack.ann })[0]?.text === "without one");
    expect(slack.see({ in: slack.general, as: slack.ann })).toHaveLength(1);
    expect(slack.see({ in: slack.general, as: slack.ben })).toEqual([]);
  });

  test("an event delivered twice has the same id", async () => {
    const ids: unknown[] = [];
    await connect(transport, (app) => {
      app.message(async ({ body }) => void ids.push(body.event_id));
    });
    await slack.people.say({ as: slack.ann, in: slack.general, text: "hello" }).acknowledged();
    const again = slack.repeat();
    await again.acknowledged();
    expect(ids).toEqual([again.eventId, again.eventId]);
    expect(again.attempts[0]?.number).toBe(1);
  });

  test("an unacknowledged event is sent three more times: at once, after one minute, after five", async () => {
    await slack.stop();
    await begin({ clock: createStandingClock() });
    const retries: unknown[] = [];
    await connect(transport, (app) => {
      // Bolt acknowledges events before any listener runs, so the refusal comes before Bolt.
      app.processEvent = async ({ retryNum, retryReason }) => {
        retries.push([retryNum ?? 0, retryReason ?? ""]);
        throw new Error("the disk is full");
      };
    });
    const said = slack.people.say({ as: slack.ann, in: slack.general, text: "hello" });
    const [delivery] = said.deliveries;
    for (const [pause, count] of [
      [0, 1],
      [0, 2],
      [60_000, 3],
      [300_000, 4],
    ] as const) {
      slack.clock.advance(pause);
      await slack.until(() => retries.length >= count);
      // Over HTTP the refusal is an answer; over a socket it is silence.
      if (transport === "sockets") slack.clock.advance(3000);
      await slack.until(() => delivery?.attempts[count - 1]?.outcome !== undefined);
    }
    await expect(said.acknowledged()).rejects.toThrow("not acknowledged");
    await expect(said.acknowledgedAtOnce()).rejects.toThrow("not acknowledged");
    slack.clock.advance(3_600_000);
    expect(delivery?.attempts).toHaveLength(4);
    const reason = transport === "HTTP" ? "http_error" : "timeout";
    expect(retries.map(String)).toEqual(["0,", `1,${reason}`, `2,${reason}`, `3,${reason}`]);
  });
});

describe("sockets", () => {
  beforeEach(() => begin());

  /** On a busy machine, pongs can take longer than the 50 ms after which the app opens another socket. */
  const patientPingMs = 60_000;

  async function listen(pingMs = 50) {
    const heard: string[] = [];
    const connected = await connectSocketApp(
      slack,
      (app) => app.message(async ({ message }) => void ("text" in message && heard.push(message.text ?? ""))),
      pingMs,
    );
    apps.push(connected);
    return heard;
  }

  test("after a broken connection the app reconnects and gets missed messages", async () => {
    slack.redelivery.afterLostSocket = "reconnect";
    const heard = await listen();
    slack.sockets.cut();
    await slack.until(() => slack.sockets.count() === 0);
    const said = slack.people.say({ as: slack.ann, in: slack.general, text: "meanwhile" });
    await said.acknowledged();
    expect(heard).toEqual(["meanwhile"]);
    expect(slack.sockets.opened()).toBe(2);
    expect(said.deliveries[0]?.attempts.map((attempt) => attempt.outcome?.type)).toEqual(["gone", "acknowledged"]);
  });

  test("otherwise missed events arrive a minute later", async () => {
    const heard = await listen();
    slack.sockets.cut();
    await slack.until(() => slack.sockets.count() === 0);
    const said = slack.people.say({ as: slack.ann, in: slack.general, text: "meanwhile" });
    await slack.until(() => slack.sockets.count() === 1);
    slack.clock.advance(59_000);
    expect(said.deliveries[0]?.attempts).toHaveLength(1);
    slack.clock.advance(1_001);
    await said.acknowledged();
    expect(heard).toEqual(["meanwhile"]);
  });

  test("a click during a broken connection is lost, and the person clicks again", async () => {
    const clicked: string[] = [];
    const app = await connectSocketApp(slack, (bolt) =>
      bolt.action("approve:1", async ({ ack, body }) => {
        clicked.push(body.user.id);
        await ack();
      }),
    );
    apps.push(app);
    const { client } = createDirectClient(slack);
    const { ts = "" } = await client.chat.postMessage({ channel: slack.general.id, text: "Run it?", blocks: card });
    slack.sockets.cut();
    await slack.until(() => slack.sockets.count() === 0);
    const click = slack.interactions.click({ as: slack.ann, on: { channel: slack.general, ts }, button: "Approve" });
    await click.acknowledged();
    expect(click.delivery.attempts.map(({ outcome }) => outcome?.type)).toEqual(["gone"]);
    expect(clicked).toEqual([slack.ann.id]);
  });

  test("the app's pings detect a silent socket", async () => {
    slack.redelivery.afterLostSocket = "reconnect";
    const heard = await listen();
    slack.sockets.silence();
    const said = slack.people.say({ as: slack.ann, in: slack.general, text: "anyone?" });
    await slack.until(() => slack.sockets.opened() === 2);
    slack.clock.advance(3000);
    await said.acknowledged();
    expect(heard).toEqual(["anyone?"]);
  });

  test.each(["warning", "refresh_requested", "link_disabled"] as const)(
    "when asked to disconnect (%s), the app opens another socket and gets unacknowledged events again",
    async (reason) => {
      slack.redelivery.afterLostSocket = "reconnect";
      const heard = await listen();
      slack.sockets.disconnect(reason);
      const said = slack.people.say({ as: slack.ann, in: slack.general, text: "still there?" });
      await said.acknowledged();
      expect(slack.sockets.opened()).toBe(2);
      expect(heard).toEqual(["still there?"]);
    },
  );

  test("an event goes to one of several sockets", async () => {
    const first = await listen(patientPingMs);
    const second = await listen(patientPingMs);
    expect(slack.sockets.count()).toBe(2);
    for (const text of ["one", "two", "three"]) {
      await slack.people.say({ as: slack.ann, in: slack.general, text }).acknowledged();
    }
    expect([...first, ...second].sort()).toEqual(["one", "three", "two"]);
    expect(first.length).toBeGreaterThan(0);
    expect(second.length).toBeGreaterThan(0);
  });

  test("both sides answer pings, and invalid acknowledgements are recorded", async () => {
    await listen(200);
    slack.sockets.ping();
    await slack.until(() => slack.sockets.pings.pongsFromApp === 1);
    await slack.until(() => slack.sockets.pings.fromApp > 0);
    slack.sockets.sendRaw("{ this is no JSON");
    await slack.people.say({ as: slack.ann, in: slack.general, text: "survived" }).acknowledged();
    expect(slack.sockets.strange).toEqual([]);
  });

  test("sockets beyond ten are asked to disconnect", async () => {
    for (let count = 0; count < 10; count += 1) await listen(patientPingMs);
    expect(slack.sockets.count()).toBe(10);
    const url = String((await createDirectClient(slack, slack.appToken).call("apps.connections.open")).url);
    const eleventh = new WebSocket(url);
    const [frame] = await once(eleventh, "message");
    expect(JSON.parse(String(frame))).toMatchObject({ type: "disconnect", reason: "too_many_websockets" });
    await once(eleventh, "close");
    expect(slack.sockets.count()).toBe(10);
  });

  /** A raw socket with its frames in order. */
  async function openByHand() {
    const url = String((await createDirectClient(slack, slack.appToken).call("apps.connections.open")).url);
    const socket = new WebSocket(url);
    const frames: JsonObject[] = [];
    socket.on("message", (data) => frames.push(JSON.parse(String(data))));
    await slack.until(() => frames.length > 0);
    return { url, socket, frames };
  }

  test("a ticket opens one socket, and the first frame says hello", async () => {
    const { url, socket, frames } = await openByHand();
    expect(frames[0]).toMatchObject({
      type: "hello",
      num_connections: 1,
      connection_info: { app_id: expect.stringMatching(/^A/) },
      debug_info: { approximate_connection_time: expect.any(Number) },
    });
    socket.send('{"envelope_id":"made up"}');
    await slack.until(() => slack.sockets.strange.length === 1);
    await expect(once(new WebSocket(url), "open")).rejects.toThrow("408");
    socket.close();
    await once(socket, "close");
  });

  test("envelopes say whether the acknowledgement can carry a response", async () => {
    const { socket, frames } = await openByHand();
    const said = slack.people.say({ as: slack.ann, in: slack.general, text: "hello" });
    const command = slack.interactions.command({ as: slack.ann, in: slack.general, command: "/remora" });
    await slack.until(() => frames.length === 3);
    expect(frames.slice(1)).toMatchObject([
      {
        type: "events_api",
        accepts_response_payload: false,
        retry_attempt: 0,
        retry_reason: "",
        payload: { type: "event_callback", event: { text: "hello" } },
      },
      { type: "slash_commands", accepts_response_payload: true, payload: { command: "/remora" } },
    ]);
    for (const { envelope_id } of frames.slice(1))
      socket.send(JSON.stringify({ envelope_id, payload: { text: "hi" } }));
    await said.acknowledged();
    expect(await command.acknowledged()).toEqual({ text: "hi" });
  });

  test("unacknowledged envelopes are lost with their socket, before the three seconds end", async () => {
    const { socket, frames } = await openByHand();
    const said = slack.people.say({ as: slack.ann, in: slack.general, text: "hello" });
    await slack.until(() => frames.length === 2);
    socket.close();
    await expect(said.acknowledgedAtOnce()).rejects.toThrow('"gone"');
  });

  test("a socket that ignores a disconnect gets nothing new and is closed after ten seconds", async () => {
    const { socket, frames } = await openByHand();
    slack.sockets.disconnect("refresh_requested");
    const said = slack.people.say({ as: slack.ann, in: slack.general, text: "hello" });
    await expect(said.acknowledgedAtOnce()).rejects.toThrow('"gone"');
    await slack.until(() => frames.length === 2);
    expect(frames[1]).toMatchObject({ type: "disconnect", reason: "refresh_requested" });
    const closed = once(socket, "close");
    slack.clock.advance(10_000);
    expect((await closed)[0]).toBe(1000);
  });

  test("only an app token opens sockets", async () => {
    const token = slack.tokens.get(slack.appToken);
    if (token !== undefined) token.state = "inactive";
    await expect(listen()).rejects.toThrow("account_inactive");
    expect(slack.sockets.opened()).toBe(0);
  });
});

describe("HTTP", () => {
  beforeEach(() => begin());

  async function listen(): Promise<string[]> {
    const heard: string[] = [];
    await connect("HTTP", (app) =>
      app.message(async ({ message }) => void ("text" in message && heard.push(message.text ?? ""))),
    );
    return heard;
  }

  test("the URL is verified with a challenge", async () => {
    await listen();
    expect(await slack.http.verifyUrl()).toBe(true);
  });

  test.each(["bad", "stale", "missing", "wrong-version"] as const)("a %s signature is refused", async (signature) => {
    const heard = await listen();
    await slack.people.say({ as: slack.ann, in: slack.general, text: "genuine" }).acknowledged();
    const body = slack.http.log.at(-1)?.body ?? "";
    const answer = await slack.http.sendRaw({ body, signature });
    expect(answer.status).toBe(401);
    expect((await slack.http.sendRaw({ body })).status).toBe(200);
    expect(heard).toEqual(["genuine", "genuine"]);
  });

  test("a body that is not JSON is refused, and the next event arrives", async () => {
    const heard = await listen();
    expect((await slack.http.sendRaw({ body: "{ this is no JSON" })).status).toBeGreaterThanOrEqual(400);
    await slack.people.say({ as: slack.ann, in: slack.general, text: "after" }).acknowledged();
    expect(heard).toEqual(["after"]);
  });

  test("an app can refuse retries", async () => {
    const server = createServer((_request, response) => {
      response.writeHead(500, { "x-slack-no-retry": "1" }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    slack.http.target = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const said = slack.people.say({ as: slack.ann, in: slack.general, text: "hello" });
    await expect(said.acknowledged()).rejects.toThrow('"status":500');
    expect(said.deliveries[0]).toMatchObject({ state: "failed", attempts: { length: 1 } });
    await new Promise((resolve) => server.close(resolve));
  });

  test("an event for a stopped app is retried a minute later", async () => {
    const heard = await listen();
    const target = slack.http.target;
    slack.http.target = "http://127.0.0.1:9/slack/events";
    const said = slack.people.say({ as: slack.ann, in: slack.general, text: "hello" });
    await slack.until(() => said.deliveries[0]?.attempts[0]?.outcome?.type === "gone");
    slack.http.target = target;
    slack.clock.advance(60_000);
    await said.acknowledged();
    expect(heard).toEqual(["hello"]);
    expect(slack.http.log.at(-1)?.headers).toMatchObject({
      "x-slack-retry-num": "1",
      "x-slack-retry-reason": "connection_failed",
    });
  });
});

describe("the clock", () => {
  beforeEach(() => begin());

  test.each([createRunningClock, () => createStandingClock(0)])("fires timers in order when advanced", (create) => {
    const clock = create();
    const rung: string[] = [];
    clock.after(200_000, () => rung.push("b"));
    clock.after(100_000, () => {
      rung.push("a");
      clock.after(50_000, () => rung.push("a2"));
    });
    clock.after(300_000, () => rung.push("c"))();
    clock.advance(190_000);
    expect(rung).toEqual(["a", "a2"]);
    clock.advance(110_000);
    expect(rung).toEqual(["a", "a2", "b"]);
    clock.stop();
  });
});
