/** Answers health checks until the process can start: supervisors see that it is alive, but not ready. */
import { createEvents } from "../lib/event-bus.ts";
import { createMetrics } from "./metrics.ts";
import { createWebServer, type WebServerOptions } from "./server.ts";

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
