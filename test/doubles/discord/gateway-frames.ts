/** Payloads of the gateway as they go over the socket. */
import type { WebSocket } from "ws";
import { type Fields, isFields } from "./fields.ts";

export function frame(socket: WebSocket, payload: object): void {
  socket.send(JSON.stringify({ t: null, s: null, ...payload }));
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
