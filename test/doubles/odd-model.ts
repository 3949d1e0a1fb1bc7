/**
 * A model with a bad habit, as small local models and their servers have them. The newest message names the habit:
 * `habit: NAME`. Speaks OpenAI's Chat Completions, as llama.cpp's server does.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import { modelCheckText } from "./model-check.ts";
import { requestListener } from "./request-listener.ts";

/** What the model has been shown in this turn. */
export interface Seen {
  /** Requests of this turn, this one included. */
  round: number;
  results: string[];
  mayCall: boolean;
  /** It had announced a call. */
  isReminded: boolean;
}

export interface OddAnswer {
  say(text: string): void;
  think(text: string): void;
  call(name: string, input: object | string): void;
  end(reason?: string): void;
  /** The connection breaks. */
  breakOff(): Promise<void>;
  /** Says it again and again, until the client leaves. */
  forever(say: (count: number) => void): Promise<void>;
  refuse(status: number, error: object): void;
}

export type Habit = (answer: OddAnswer, seen: Seen) => void | Promise<void>;

export interface OddModel {
  url: string;
  /** How many requests came for each habit. */
  requests(habit: string): number;
  /** How many answers the client left before their end. */
  left(): number;
  close(): Promise<void>;
}

const request = z.looseObject({
  messages: z.array(z.looseObject({ role: z.string(), content: z.unknown() })),
});

export async function startOddModel(habits: Readonly<Record<string, Habit>>): Promise<OddModel> {
  const counts = new Map<string, number>();
  let left = 0;
  const server = createServer(
    requestListener(async (incoming, response) => {
      const sent = await text(incoming);
      if (incoming.method !== "POST") return void response.writeHead(404).end();
      const { messages } = request.parse(JSON.parse(sent));
      const isReminder = ({ content }: { content?: unknown }) =>
        /^<runtime>\nnote: [^\n]*\n<\/runtime>$/.test(String(content));
      const asked = messages.findLastIndex((message) => message.role === "user" && !isReminder(message));
      const [, name = ""] = /habit: ([\w ]+\w)/.exec(String(messages[asked]?.content)) ?? [];
      const answer = answerTo(response, () => {
        left += 1;
      });
      const habit = habits[name];
      if (sent.includes(modelCheckText) || habit === undefined) {
        answer.say("Here I am.");
        answer.end();
        return;
      }
      counts.set(name, (counts.get(name) ?? 0) + 1);
      const after = messages.slice(asked + 1);
      const results = after.filter(({ role }) => role === "tool").map(({ content }) => String(content));
      const mayCall = !sent.includes("no more tools now");
      await habit(answer, {
        round: counts.get(name) ?? 1,
        results,
        mayCall,
        isReminded: after.some((one) => isReminder(one) && /did not call the tool/.test(String(one.content))),
      });
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests: (habit) => counts.get(habit) ?? 0,
    left: () => left,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function answerTo(response: ServerResponse, onLeft: () => void): OddAnswer {
  let calls = 0;
  const send = (delta: object, finish_reason: string | null = null) => {
    if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
    const choices = [{ index: 0, delta, finish_reason }];
    response.write(`data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", choices })}\n\n`);
  };
  return {
    say: (content) => send({ content }),
    think: (reasoning_content) => send({ reasoning_content }),
    call(name, input) {
      const index = calls;
      calls += 1;
      const args = typeof input === "string" ? input : JSON.stringify(input);
      send({ tool_calls: [{ index, id: `call_${index}`, type: "function", function: { name, arguments: args } }] });
    },
    end(reason = calls > 0 ? "tool_calls" : "stop") {
      send({}, reason);
      response.end("data: [DONE]\n\n");
    },
    async breakOff() {
      await setImmediate();
      response.socket?.resetAndDestroy();
    },
    async forever(say) {
      for (let count = 1; !response.destroyed; count += 1) {
        say(count);
        if (response.writableNeedDrain)
          await new Promise<void>((resolve) => {
            response.once("drain", resolve);
            response.once("close", resolve);
          });
        else await setImmediate();
      }
      onLeft();
    },
    refuse(status, error) {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ error }));
    },
  };
}
