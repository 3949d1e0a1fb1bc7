/** The part of the composition that keeps commands harmless: the sandbox, its way out, drafts, and what must be asked about. */
import { realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Settings } from "../config/load.ts";
import { createContainment } from "../engine/turn/containment.ts";
import type { Log } from "../lib/log.ts";
import { folderNameOf } from "../memory/places.ts";
import type { ApprovalCard, ChangeApprovals, ChangesActions } from "../ports/approval.ts";
import type { Audit } from "../ports/audit.ts";
import type { Bus, Leases } from "../ports/cluster.ts";
import type { Containment } from "../ports/containment.ts";
import type { Drafts } from "../ports/draft.ts";
import type { Events } from "../ports/events.ts";
import type { FileOrigins } from "../ports/file-origins.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { InboundMessage, Scope } from "../ports/message.ts";
import type { PluginLauncher } from "../ports/plugin-process.ts";
import type { PortWrappers } from "../ports/port-wrappers.ts";
import type { Sandbox, SandboxReport } from "../ports/sandbox.ts";
import type { TurnRecord } from "../ports/turn.ts";
import { draftsFolderOf } from "../sandbox/draft/draft-diff.ts";
import { createDrafts, makeDraftFolders } from "../sandbox/draft/drafts.ts";
import { createFileOrigins } from "../sandbox/draft/file-origins.ts";
import { problemOfGivenFolder } from "../sandbox/draft/given-folders.ts";
import { createEgress } from "../sandbox/egress/egress.ts";
import { parseHosts } from "../sandbox/egress/hosts.ts";
import { createUnconfinedLauncher, createViewLauncher } from "../sandbox/plugin-launcher.ts";
import { createSandbox } from "../sandbox/view/sandbox.ts";

export interface DraftParts {
  sandbox: Sandbox;
  report: SandboxReport;
  drafts: Drafts & ChangesActions;
  containment: Containment;
  /** Starts the processes of plugins. */
  pluginLauncher: PluginLauncher;
  /** The real working folder of a conversation. */
  workingFolder(conversationId: string, scope: Scope): string;
  /** Where outputs are kept that are too long for the model. */
  outputsFolder(scope: Scope): string;
  fileOrigins: FileOrigins;
  close(): Promise<void>;
}

export interface DraftPartsOptions {
  settings: Settings;
  ledger: Ledger;
  leases: Leases;
  bus: Bus;
  events: Events;
  audit: Audit;
  /** Made later than drafts, and used only once the process works. */
  approvals(): ChangeApprovals;
  show(card: ApprovalCard): Promise<void>;
  isTainted(turn: TurnRecord): boolean;
  accept(message: InboundMessage): Promise<unknown>;
  redact(text: string): string;
  wrap: Pick<PortWrappers, "sandbox">;
  log: Log;
}

const project = resolve(import.meta.dirname, "../..");
/** Where commands find the `node` that Remora itself runs on, behind the system's own programs. */
const nodeInView = "/opt/node/bin";
const pathInView = `/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:${nodeInView}`;

export async function createDraftParts(options: DraftPartsOptions): Promise<DraftParts> {
  const { settings, ledger, leases, bus, events, audit, wrap, log } = options;
  const { config, workspace, data } = settings;
  const draftsFolder = draftsFolderOf(workspace);
  await makeDraftFolders(draftsFolder);
  const isOff = config.safety.sandbox === "off";
  const made = isOff
    ? switchedOff()
    : createSandbox({
        folder: join(data, "sandbox"),
        // Also where they lie below a folder that every view shows, such as /usr/local.
        hidden: [workspace, data, project],
        log,
      });
  const sandbox = wrap.sandbox?.(made) ?? made;
  const report = await sandbox.probe();
  const { network, readable } = config.sandbox;
  const egress = createEgress({
    allow: network.allow,
    always: network.always,
    secrets: network.secrets,
    log(connection) {
      log.info({ ...connection }, "a command reached the network");
      events.emit("network.connection", connection);
    },
  });
  const workingFolder = (conversationId: string, scope: Scope) =>
    folderFor(config.folders, conversationId) ?? join(workspace, "files", folderNameOf(scope));
  const outputsFolder = (scope: Scope) => join(workspace, "outputs", folderNameOf(scope));
  for (const folder of new Set(Object.values(config.folders))) {
    const problem = await problemOfGivenFolder(folder);
    if (problem !== undefined) log.warn({ problem }, "a folder of the configuration can't be worked on as it is");
  }
  const fileOrigins = createFileOrigins(ledger);
  const given = new Set(Object.values(config.folders).map(withoutLinks));

  const drafts = createDrafts({
    ...{ ledger, leases, bus, events, audit, sandbox, egress, log },
    approvals: {
      openChanges: (request) => options.approvals().openChanges(request),
      redeemChanges: (id) => options.approvals().redeemChanges(id),
      finishChanges: (id, outcome) => options.approvals().finishChanges(id, outcome),
      mayTakeBack: (id, by) => options.approvals().mayTakeBack(id, by),
      replaceChanges: (id, reason) => options.approvals().replaceChanges(id, reason),
    },
    policy: config.safety.changes,
    undo: { maxAgeMs: config.safety.undo.days * 86_400_000, maxBytes: config.safety.undo.megabytes * 1024 * 1024 },
    folder: draftsFolder,
    isGiven: (folder) => given.has(folder),
    unconfinedRefusal:
      config.safety.sandbox === "required"
        ? `Nothing was run: the settings require a sandbox (safety.sandbox: required), and it does not hold here: ${report.detail}. Tell the operator.`
        : undefined,
    fileOrigins,
    outputsFolder,
    exposed: ({ scope: { scope }, usesOutputs }) => ({
      // Skills may bring scripts that are meant to be run.
      readable: [...settings.skillRoots, ...readable],
      mounts: [
        { from: dirname(process.execPath), at: nodeInView },
        // Outputs may hold what others have written: only a command that names them sees them.
        ...(usesOutputs ? [{ from: outputsFolder(scope), at: "/outputs" }] : []),
      ],
    }),
    environment: { PATH: pathInView },
    show: options.show,
    isTainted: options.isTainted,
    accept: options.accept,
    redact: options.redact,
  });

  const containment = createContainment({
    sandboxHolds: report.holds,
    fits: (folder) => sandbox.fits(withoutLinks(folder)),
    asksForCommands: config.safety.shell === "ask",
    isFreeHost: (host) => egress.isFree(host),
    problemWithHosts(hosts) {
      const parsed = parseHosts(hosts);
      return parsed.type === "refused" ? parsed.message : undefined;
    },
    describeHosts(hosts) {
      const parsed = parseHosts(hosts);
      return parsed.type === "hosts" ? egress.describe(parsed.hosts) : [...hosts];
    },
    changedPaths: drafts.changedPaths,
  });

  const nodeMount = { from: dirname(process.execPath), at: nodeInView };
  const pluginLauncher = report.holds
    ? createViewLauncher({
        ...{ sandbox, egress, audit, nodeMount },
        folder: join(data, "sandbox", "plugins"),
        node: `${nodeInView}/${basename(process.execPath)}`,
        environment: { PATH: pathInView },
      })
    : createUnconfinedLauncher();

  return {
    ...{ sandbox, report, drafts, containment, pluginLauncher, workingFolder, outputsFolder, fileOrigins },
    async close() {
      await drafts.close();
      await egress.close();
      await sandbox.close();
    },
  };
}

/** The conversation's own entry, or that of the channel it belongs to. */
function folderFor(folders: Readonly<Record<string, string>>, conversationId: string): string | undefined {
  for (let id = conversationId; id !== ""; id = id.slice(0, Math.max(0, id.lastIndexOf(":")))) {
    if (Object.hasOwn(folders, id)) return folders[id];
  }
  return undefined;
}

function withoutLinks(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder;
  }
}

function switchedOff(): Sandbox {
  const detail = "switched off by safety.sandbox: every command asks, and only owners may approve";
  return {
    probe: async () => ({ holds: false, layers: "overlay", detail }),
    fits: async () => false,
    open: () => Promise.reject(new Error("the sandbox is switched off")),
    close: async () => {},
  };
}
