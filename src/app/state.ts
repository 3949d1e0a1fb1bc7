/** Builds durable state and event recorders: ledger, store, leases, bus, events, audit and metrics. */
import { createRequire } from "node:module";
import { type AuditLog, createAuditLog } from "../audit/audit-log.ts";
import { auditFolderOf } from "../audit/files.ts";
import { headsFolderOf } from "../audit/heads.ts";
import { redisSettings } from "../config/derive.ts";
import { messageOf, RemoraError } from "../lib/errors.ts";
import { createEvents } from "../lib/event-bus.ts";
import { createMasker, followingSecrets, type Mask } from "../lib/redact.ts";
import type { Audit } from "../ports/audit.ts";
import type { EphemeralTexts } from "../ports/ephemeral.ts";
import type { Events } from "../ports/events.ts";
import type { WrapPort } from "../ports/port-wrappers.ts";
import type { DurableState } from "../storage/durable-state.ts";
import { createEphemeralTexts } from "../storage/ephemeral-texts.ts";
import { makeFolders } from "../storage/folders.ts";
import { openState } from "../storage/open-state.ts";
import type { TraceExporter } from "../tracing/exporter.ts";
import { createMetrics, type Metrics } from "../web/metrics.ts";
import { serveWhileWaiting } from "../web/waiting.ts";
import { createLiveSettings, type LiveSettings } from "./live-settings.ts";
import type { AppOptions } from "./options.ts";

const { version } = createRequire(import.meta.url)("../../package.json") as { version: string };

export interface State extends Omit<DurableState, "close"> {
  events: Events;
  audit: Audit;
  auditLog: Pick<AuditLog, "flush" | "prune">;
  metrics: Metrics;
  mask: Mask;
  ephemeral: EphemeralTexts;
  live: LiveSettings;
  wrap: WrapPort;
  /** Makes requests to an unreachable Redis fail at once from now on. */
  hurry(): void;
  close(): Promise<void>;
}

export async function buildState(options: AppOptions, wrap: WrapPort): Promise<State> {
  const { settings, token, log } = options;
  const { config, workspace, data } = settings;
  await makeFolders(workspace, data);
  const durable = await openDurableState(options);
  const events = createEvents((thrown) => log.error({ error: messageOf(thrown) }, "an event listener failed"));
  const mask = followingSecrets(
    () => settings.secrets,
    (secrets) => createMasker([...secrets, { name: "token of the page", value: token }]),
  );
  const auditLog = createAuditLog({
    ...{ events, mask, log, retentionDays: config.events.retentionDays },
    folder: auditFolderOf(workspace),
    headsFolder: headsFolderOf(data),
  });
  const metrics = createMetrics(events);
  const audit = wrap("audit", auditLog);
  const live = createLiveSettings(options, audit);
  const traces = await openTraces(options, events);

  return {
    ...durable,
    ...{ events, audit, auditLog, metrics, mask, live, wrap },
    ephemeral: createEphemeralTexts(durable.bus),
    ledger: wrap("ledger", durable.ledger),
    hurry: () => durable.redis?.connection.hurry(),
    async close() {
      await live.close();
      metrics.close();
      await traces?.close();
      await auditLog.close();
      await durable.close();
    },
  };
}

/** Loaded only if a collector is set. */
async function openTraces({ settings, role, log }: AppOptions, events: Events): Promise<TraceExporter | undefined> {
  const { endpoint, headers, serviceName } = settings.config.tracing;
  if (endpoint === null) return undefined;
  const { createTraceExporter } = await import("../tracing/exporter.ts");
  return createTraceExporter({ events, log, endpoint, headers, serviceName, version, role });
}

async function openDurableState({ settings, token, role, log, signal }: AppOptions): Promise<DurableState> {
  const redis = redisSettings(settings);
  if (redis === null && role !== "all") {
    throw new RemoraError({
      code: "start.role",
      place: "--role",
      message: `"${role}" shares its work with other processes, and they need Redis for that. Set REDIS_URL, or leave --role out`,
    });
  }
  const onWaiting = (detail: () => string) => serveWhileWaiting({ ...settings.config.web, token, log }, detail);
  return await openState({ data: settings.data, redis, log }, onWaiting, signal);
}
