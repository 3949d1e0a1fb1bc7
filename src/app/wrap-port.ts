/** Puts a test's fault around a port; without one the port stays as it is. */
import type { PortWrappers, WrapPort } from "../ports/port-wrappers.ts";

export function createWrapPort(wrappers: PortWrappers = {}): WrapPort {
  return (name, port) => wrappers[name]?.(port) ?? port;
}
