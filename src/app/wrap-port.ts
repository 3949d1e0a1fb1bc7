/** Lets tests inject faults into ports. Without a wrapper, returns the port unchanged. */
import type { PortWrappers, WrapPort } from "../ports/port-wrappers.ts";

export function createWrapPort(wrappers: PortWrappers = {}): WrapPort {
  return (name, port) => wrappers[name]?.(port) ?? port;
}
