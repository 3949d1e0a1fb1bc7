/**
 * The HTTP routes of the local chat: the page under `/` and `/local/`, the API under `/local/api/`. The server must
 * check token, origin and host before a request gets here. Bodies are JSON, limited in size and validated, except
 * those of uploads (upload-route.ts).
 */
import { Readable } from "node:stream";
import type { Context, Hono } from "hono";
import { z } from "zod";
import { messageOf } from "../../lib/errors.ts";
import { shortageText } from "../../lib/shortage.ts";
import type { Scope } from "../../ports/message.ts";
import { limitBody } from "../shared/limit-body.ts";
import { agent } from "./chat-message.ts";
import type { ChatStore } from "./chat-store.ts";
import { createChannel } from "./create-channel.ts";
import { createEventStreams } from "./event-stream.ts";
import { mountFinding } from "./find-routes.ts";
import { type Inbound, Refusal, type Spot } from "./inbound.ts";
import { maxAttachments, maxBodyBytes, maxThreadMessages, pageSize } from "./limits.ts";
import type { LocalPlatformOptions } from "./options.ts";
import { mountPage } from "./page-routes.ts";
import { createPerson } from "./people.ts";
import { type Body, bodies } from "./requests.ts";
import { mountUploads, uploadsPath } from "./upload-route.ts";

export interface RoutesOptions extends LocalPlatformOptions {
  store: ChatStore;
  inbound: Inbound;
  signal: AbortSignal;
}

export function mountRoutes(app: Hono, options: RoutesOptions): void {
  mountPage(app);
  app.use("/local/api/*", async (context, next) => {
    context.header("Cache-Control", "no-store");
    await next();
  });
  const tooLarge = `Too large: a message can have at most ${maxBodyBytes / 1024 / 1024} MB. Send less, or upload the text as a file.`;
  const limit = limitBody(maxBodyBytes, (context) => context.json({ error: tooLarge }, 413));
  app.use("/local/api/*", (context, next) =>
    context.req.path.startsWith(uploadsPath) ? next() : limit(context, next),
  );
  mountUploads(app, options);
  mountReading(app, options);
  mountFinding(app, options);
  mountWriting(app, options);
}

function mountReading(app: Hono, { store, commands, maxFileBytes, signal }: RoutesOptions): void {
  const streamEvents = createEventStreams(store, signal);
  app.get("/local/api/state", (context) => {
    const people = store.people();
    const me = people.find((person) => person.id === context.req.query("person")) ?? people[0];
    if (me === undefined) return context.json({ error: "There are no people in this chat." }, 404);
    const channels = store.channels.names();
    const revision = store.revision();
    const limits = { maxFileBytes, maxFiles: maxAttachments };
    return context.json({ me, people, agent, channels, pageSize, revision, limits, commands: commands() });
  });
  app.get("/local/api/messages", (context) => {
    const { person = "", place = "", thread, before } = context.req.query();
    if (thread !== undefined) return context.json({ messages: store.thread(person, thread, maxThreadMessages) });
    const end = before === undefined ? Number.MAX_SAFE_INTEGER : Number.parseInt(before, 10) || 0;
    return context.json({ messages: store.page(person, place as Scope, end, pageSize) });
  });
  app.get("/local/api/events", (context) => {
    const since = context.req.header("last-event-id") ?? context.req.query("since") ?? "0";
    return streamEvents(context, context.req.query("person") ?? "", Number.parseInt(since, 10) || 0);
  });
  app.get("/local/api/files/:id", (context) => {
    const file = store.files.get(context.req.param("id"));
    if (file === undefined) return context.json({ error: "That file does not exist." }, 404);
    const isImage = /^image\/(png|jpeg|gif|webp)$/.test(file.mimeType);
    const kind = isImage ? "inline" : "attachment";
    const content = Readable.toWeb(Readable.from(store.files.read(file.id))) as ReadableStream<Uint8Array>;
    return context.body(content, 200, {
      "content-length": String(file.bytes),
      "content-type": isImage ? file.mimeType : "application/octet-stream",
      "content-disposition": `${kind}; filename*=UTF-8''${encodeURIComponent(file.name.toWellFormed())}`,
      "content-security-policy": "default-src 'none'; sandbox",
      "x-content-type-options": "nosniff",
    });
  });
}

function mountWriting(app: Hono, { store, inbound, log }: RoutesOptions): void {
  /** Validates the body and does the work. Answers a refusal with its message. */
  async function taking<T>(
    context: Context,
    body: z.ZodType<T>,
    work: (input: T) => Promise<Response>,
  ): Promise<Response> {
    const json: unknown = await context.req.json().catch(() => undefined);
    const parsed = body.safeParse(json);
    if (!parsed.success) return context.json({ error: `Invalid request: ${z.prettifyError(parsed.error)}` }, 400);
    try {
      return await work(parsed.data);
    } catch (thrown) {
      if (thrown instanceof Refusal) return context.json({ error: thrown.message }, thrown.status);
      const shortage = shortageText(thrown);
      if (shortage !== undefined) return context.json({ error: shortage }, 503);
      log.error({ path: context.req.path, error: messageOf(thrown) }, "could not keep a message from the local chat");
      return context.json({ error: `Remora couldn't save that. Try again. (${messageOf(thrown)})` }, 503);
    }
  }

  app.post("/local/api/messages", (context) =>
    taking(context, bodies.message, async ({ attachments, id, text, ...input }) => {
      const message = await inbound.say({ ...inputSpot(input), id, text, files: attachments });
      return context.json({ message }, 202);
    }),
  );
  app.patch("/local/api/messages/:id", (context) =>
    taking(context, bodies.edit, async ({ person, text }) =>
      context.json({ message: await inbound.edit(person, context.req.param("id"), text) }),
    ),
  );
  app.delete("/local/api/messages/:id", (context) =>
    taking(context, bodies.edit.pick({ person: true }), async ({ person }) => {
      await inbound.remove(person, context.req.param("id"));
      return context.body(null, 204);
    }),
  );
  app.post("/local/api/answers", (context) =>
    taking(context, bodies.answer, async (answer) => context.json(await inbound.answer(answer))),
  );
  app.post("/local/api/picks", (context) =>
    taking(context, bodies.pick, async (pick) => context.json(await inbound.pick(pick))),
  );
  app.post("/local/api/footer", (context) =>
    taking(context, bodies.footer, async (click) => context.json(await inbound.footer(click))),
  );
  app.post("/local/api/commands", (context) =>
    taking(context, bodies.command, async ({ name, rest, ...input }) =>
      context.json({ message: await inbound.command({ ...inputSpot(input), name, rest }) }, 202),
    ),
  );
  app.post("/local/api/people", (context) =>
    taking(context, bodies.person, async ({ name }) => context.json({ person: createPerson(store, name) }, 201)),
  );
  app.post("/local/api/channels", (context) =>
    taking(context, bodies.channel, async ({ name }) => context.json({ channel: createChannel(store, name) }, 201)),
  );
}

function inputSpot({ person, channel, dm, thread = null, timeZone }: Omit<Body<"command">, "name" | "rest">): Spot {
  if ((channel === undefined) === (dm === undefined)) {
    throw new Refusal(400, "Give either `channel` with a name, or `dm: true`.");
  }
  const place: Scope = channel === undefined ? `dm:${person}` : `channel:${channel}`;
  return { person, place, thread, ...(timeZone === undefined ? {} : { timeZone }) };
}
