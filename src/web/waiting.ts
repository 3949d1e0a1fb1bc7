/** While the process waits for something before it can start: alive, and not ready, for whoever supervises it. */
import { createEvents } from "../lib/event-bus.ts";
import { createMetrics } from "./metrics.ts";
import { createWebServer, type WebServerOptions } from "./server.ts";

/** Resolves when it listens, to what ends it. */
export async function serveWhileWaiting(
  options: Pick<WebServerOptions, "host" | "port" | "token" | "log">,
  detail: () => string,
): Promise<() => Promise<void>> {
  const metrics = createMetrics(createEvents());
  const server = createWebServer({ ...options, metrics, readiness: () => ({ isReady: false, detail: detail() }) });
  await server.start();
  return async () => {
    await server.close();
    metrics.close();
  };
}
