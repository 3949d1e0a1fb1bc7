/**
 * Response URLs of clicks and commands: five posts within 30 minutes, without a token; to the person alone unless
 * `response_type: in_channel`, or in place of the message that was clicked.
 * Rule: response-urls-need-no-token
 */
import { randomBytes } from "node:crypto";
import type { Delivery } from "./delivery.ts";
import { checkHasContent, type Posting, readContent } from "./posting.ts";
import type { Page } from "./server.ts";
import { most } from "./sizes.ts";
import type { SlackState } from "./state.ts";
import { createArguments, isObject, type JsonObject, SlackRefusal } from "./wire.ts";

interface Place {
  channel: string;
  user: string;
  /** The message that was clicked. */
  ts?: string;
}

export interface ResponseUrls {
  open(place: Place): string;
  respond(path: string, body: string): Page;
  /** What came with the acknowledgement of a command. */
  answer(place: Place, command: string, payload: JsonObject): void;
  /** What the person sees when a command was not acknowledged. */
  fail(place: Place, command: string, delivery: Delivery): void;
  /** Every post to a response URL. */
  log: JsonObject[];
}

export function createResponseUrls(state: SlackState, posting: Posting): ResponseUrls {
  const known = new Map<string, { place: Place; until: number; left: number }>();
  const log: JsonObject[] = [];

  function show(place: Place, payload: JsonObject): void {
    const channel = state.channels.get(place.channel);
    if (channel === undefined) throw new SlackRefusal("channel_not_found");
    const original = state.messages.find((one) => one.channel === place.channel && one.ts === place.ts);
    const isReplacing = payload.replace_original === true || payload.replace_original === "true";
    if (payload.delete_original === true && original !== undefined) {
      posting.remove(original);
      return;
    }
    const args = createArguments(payload);
    const content = readContent(args);
    checkHasContent(content);
    if (isReplacing && original !== undefined) {
      posting.change(original, { ...content, edited: { user: state.app.botUserId, ts: state.ts() } });
      return;
    }
    // Without `thread_ts` it appears in the channel, also when the click was in a thread.
    const message = posting.draft(channel, content, args.text("thread_ts"), args);
    const isPublic = payload.response_type === "in_channel";
    posting.post(isPublic ? message : { ...message, onlyFor: place.user });
  }

  /** Slackbot tells the person alone. */
  function tell(place: Place, command: string, reason: string): void {
    const channel = state.channels.get(place.channel);
    if (channel === undefined) return;
    const text = `${command} failed with the error "${reason}"`;
    const message = posting.draft(channel, { text, blocks: [], attachments: [] }, undefined);
    posting.post({ ...message, user: "USLACKBOT", onlyFor: place.user });
  }

  return {
    log,
    open(place) {
      const path = `/response/${state.team.id}/${randomBytes(9).toString("hex")}`;
      known.set(path, { place, until: state.clock.now() + most("response-url-ms"), left: most("response-url-uses") });
      return `${state.url}${path}`;
    },
    respond(path, body) {
      const url = known.get(path);
      if (url === undefined) return refused(404, "no_service");
      if (state.clock.now() > url.until) return refused(404, "expired_url");
      if (url.left === 0) return refused(404, "used_url");
      url.left -= 1;
      try {
        const payload: unknown = JSON.parse(body);
        if (!isObject(payload)) return refused(400, "invalid_payload");
        log.push(payload);
        show(url.place, payload);
        return { status: 200, body: "ok" };
      } catch (error) {
        if (error instanceof SyntaxError) return refused(400, "invalid_payload");
        if (error instanceof SlackRefusal) return refused(500, error.error);
        throw error;
      }
    },
    answer(place, command, payload) {
      if (payload.text === undefined && payload.blocks === undefined) return;
      try {
        show(place, payload);
      } catch (error) {
        if (!(error instanceof SlackRefusal)) throw error;
        tell(place, command, "invalid_command_response");
      }
    },
    fail(place, command, delivery) {
      const isLate = delivery.attempts.at(-1)?.outcome?.type === "timeout";
      tell(place, command, isLate ? "operation_timeout" : "dispatch_failed");
    },
  };
}

function refused(status: number, error: string): Page {
  const headers = { "content-type": "application/json; charset=utf-8" };
  return { status, headers, body: JSON.stringify({ ok: false, error }) };
}
