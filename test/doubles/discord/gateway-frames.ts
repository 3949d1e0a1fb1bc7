/** Payloads of the gateway as they go over the socket. */
import type { WebSocket } from "ws";
import { type Fields, isFields } from "./fields.ts";
import type { DiscordCode } from "./rules.ts";

export function frame(socket: WebSocket, payload: object): void {
  socket.send(JSON.stringify({ t: null, s: null, ...payload }));
}

/** Closes a connection on which the client has broken a rule. */
export function refuse(socket: WebSocket, code: DiscordCode, reason: string): void {
  socket.close(code, reason);
}

/** A client's payload; undefined if invalid. */
export function parse(text: string): { op: number; d: Fields } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (!isFields(value) || typeof value.op !== "number") return undefined;
    // A heartbeat's payload is a bare number.
    if (value.op !== 1 && !isFields(value.d)) return undefined;
    return { op: value.op, d: isFields(value.d) ? value.d : {} };
  } catch {
    return undefined;
  }
}
