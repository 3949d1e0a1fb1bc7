/**
 * Everything Slack sends to the app, and what came of it: attempts over the socket or over HTTP, acknowledged or not.
 *
 * Events are tried again up to three times: at once after 3 s without an acknowledgement, 60 s later when the socket went
 * away or there was none, then after 1 and 5 minutes. What a person does with buttons, modals and commands is tried once.
 * Rule: events-are-tried-again
 */
import { randomUUID } from "node:crypto";
import type { SlackState } from "./state.ts";
import type { JsonObject } from "./wire.ts";

export type DeliveryKind = "events_api" | "interactive" | "slash_commands";

/** How one attempt ended. `payload` is what the app sent with its acknowledgement. */
export type Outcome =
  | { type: "acknowledged"; payload: JsonObject }
  /** No answer within 3 s. */
  | { type: "timeout" }
  /** HTTP: any answer but 2xx; final with `x-slack-no-retry: 1`. */
  | { type: "refused"; status: number; body: string; isFinal: boolean }
  /** The connection was lost or missing. */
  | { type: "gone" };

export interface Attempt {
  number: number;
  envelopeId: string;
  at: number;
  reason: string;
  outcome: Outcome | undefined;
}

export interface Delivery {
  kind: DeliveryKind;
  payload: JsonObject;
  /** Of events. */
  eventId: string | undefined;
  attempts: Attempt[];
  state: "pending" | "acknowledged" | "failed";
  /** What the app sent with its acknowledgement; rejects when Slack has given up. */
  acknowledged(): Promise<JsonObject>;
  /** The outcome of the first attempt; rejects unless it is an acknowledgement. */
  firstAttempt(): Promise<JsonObject>;
}

/** Sends one attempt; the outcome may come at any time. `signal` is aborted when Slack stops waiting for it. */
export type Transport = (
  delivery: Delivery,
  attempt: Attempt,
  settle: (outcome: Outcome) => void,
  signal: AbortSignal,
) => void;

export interface Redelivery {
  isEnabled: boolean;
  /** How long Slack waits for an acknowledgement. */
  acknowledgeWithinMs: number;
  /** After a lost socket; "reconnect": as soon as there is a socket again. */
  afterLostSocket: number | "reconnect";
  /** Pauses before the second and third retry. */
  laterMs: number[];
}

export interface Courier {
  sent: Delivery[];
  redelivery: Redelivery;
  send(kind: DeliveryKind, payload: JsonObject): Delivery;
  /** Sends the event again, as Slack may do at any time: the same event id in a new envelope. */
  repeat(delivery: Delivery, reason?: string): Delivery;
  /** Called when a socket came up. */
  reconnected(): void;
}

export function createCourier(state: SlackState, transport: () => Transport): Courier {
  const sent: Delivery[] = [];
  const untilReconnected = new Set<() => void>();
  const redelivery: Redelivery = {
    isEnabled: true,
    acknowledgeWithinMs: 3000,
    afterLostSocket: 60_000,
    laterMs: [60_000, 300_000],
  };

  function attempt(delivery: Delivery, reason: string, before = delivery.attempts[0]?.number ?? 0): void {
    const made: Attempt = {
      number: before + delivery.attempts.length,
      envelopeId: randomUUID(),
      at: state.clock.now(),
      reason,
      outcome: undefined,
    };
    delivery.attempts.push(made);
    const waiting = new AbortController();
    const cancel = state.clock.after(redelivery.acknowledgeWithinMs, () => {
      settle({ type: "timeout" });
      waiting.abort();
    });
    const settle = (outcome: Outcome) => {
      if (made.outcome !== undefined) {
        // An acknowledgement after the 3 s still ends the redelivery.
        if (outcome.type === "acknowledged" && delivery.state === "pending") delivery.state = "acknowledged";
        state.changed();
        return;
      }
      cancel();
      made.outcome = outcome;
      if (outcome.type === "acknowledged") delivery.state = "acknowledged";
      else if (delivery.state === "pending") again(delivery, outcome);
      state.changed();
    };
    transport()(delivery, made, settle, waiting.signal);
    state.changed();
  }

  function again(delivery: Delivery, outcome: Outcome): void {
    const retry = delivery.attempts.length;
    const isFinal = outcome.type === "refused" && outcome.isFinal;
    if (delivery.kind !== "events_api" || !redelivery.isEnabled || retry > 3 || isFinal) {
      delivery.state = "failed";
      return;
    }
    const next = () => {
      if (delivery.state === "pending") attempt(delivery, reasonOf(outcome));
    };
    const lost = outcome.type === "gone" ? redelivery.afterLostSocket : undefined;
    if (lost === "reconnect") untilReconnected.add(next);
    else state.clock.after(lost ?? (retry === 1 ? 0 : (redelivery.laterMs[retry - 2] ?? 0)), next);
  }

  function create(kind: DeliveryKind, payload: JsonObject, reason = "", before = 0): Delivery {
    const delivery: Delivery = {
      kind,
      payload,
      eventId: typeof payload.event_id === "string" ? payload.event_id : undefined,
      attempts: [],
      state: "pending",
      acknowledged: () => settled(state, delivery, () => finalOutcome(delivery)),
      firstAttempt: () => settled(state, delivery, () => delivery.attempts[0]?.outcome),
    };
    sent.push(delivery);
    attempt(delivery, reason, before);
    return delivery;
  }

  return {
    sent,
    redelivery,
    send: (kind, payload) => create(kind, payload),
    repeat: (delivery, reason = "timeout") =>
      create(delivery.kind, structuredClone(delivery.payload), reason, (delivery.attempts.at(-1)?.number ?? 0) + 1),
    reconnected() {
      const due = [...untilReconnected];
      untilReconnected.clear();
      for (const next of due) next();
    },
  };
}

function finalOutcome(delivery: Delivery): Outcome | undefined {
  const acknowledged = delivery.attempts.find((attempt) => attempt.outcome?.type === "acknowledged");
  if (acknowledged !== undefined) return acknowledged.outcome;
  if (delivery.state === "acknowledged") return { type: "acknowledged", payload: {} };
  return delivery.state === "failed" ? delivery.attempts.at(-1)?.outcome : undefined;
}

function settled(state: SlackState, delivery: Delivery, outcome: () => Outcome | undefined): Promise<JsonObject> {
  return new Promise((resolve, reject) => {
    const look = () => {
      const found = outcome();
      if (found === undefined) return false;
      if (found.type === "acknowledged") resolve(found.payload);
      else reject(new Error(`slack double: ${delivery.kind} was not acknowledged: ${JSON.stringify(found)}`));
      return true;
    };
    if (look()) return;
    const leave = state.onChange(() => {
      if (look()) leave();
    });
  });
}

/** The words of `x-slack-retry-reason` and `retry_reason`. */
function reasonOf(outcome: Outcome): string {
  switch (outcome.type) {
    case "timeout":
      return "timeout";
    case "refused":
      return "http_error";
    case "gone":
      return "connection_failed";
    case "acknowledged":
      return "";
    default:
      return outcome satisfies never;
  }
}
