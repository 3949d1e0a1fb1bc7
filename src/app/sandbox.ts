/** Builds the sandbox, its network access, and the drafts. */
import { basename, dirname, join, resolve } from "node:path";
import { configuredFolder } from "../config/derive.ts";
import { withoutLinks } from "../config/exposed-folders.ts";
import type { Settings } from "../config/settings.ts";
import { createContainment } from "../engine/turn/containment.ts";
import { readCommandFiles } from "../gate/shell/command-files.ts";
import { isInside } from "../lib/is-inside.ts";
import type { Log } from "../lib/log.ts";
import { folderNameOf } from "../memory/places.ts";
import type { MayRepeat } from "../ports/access.ts";
import type { ApprovalDesk, ChangesActions } from "../ports/approval.ts";
import type { Containment } from "../ports/containment.ts";
import type { Conversations } from "../ports/conversation.ts";
import type { Drafts } from "../ports/draft.ts";
import type { FileOrigins } from "../ports/file-origins.ts";
import type { Scope } from "../ports/message.ts";
import type { PluginLauncher } from "../ports/plugin-process.ts";
import type { Sandbox, SandboxReport } from "../ports/sandbox.ts";
import type { Toolbox } from "../ports/tool.ts";
import { isTainted } from "../ports/turn-origins.ts";
import type { Deliveries } from "../response/deliveries.ts";
import { draftsFolderOf, makeDraftFolders } from "../sandbox/draft/draft-folders.ts";
import { createDrafts } from "../sandbox/draft/drafts.ts";
import { createFileOrigins } from "../sandbox/draft/file-origins.ts";
import { problemOfGivenFolder } from "../sandbox/draft/given-folders.ts";
import { createEgress, type Egress } from "../sandbox/egress/egress.ts";
import { parseHosts } from "../sandbox/egress/hosts.ts";
import { createUnconfinedLauncher, createViewLauncher } from "../sandbox/plugin-launcher.ts";
import { createSwitchedOffSandbox } from "../sandbox/switched-off.ts";
import { createSandbox } from "../sandbox/view/sandbox.ts";
import type { Late } from "./late.ts";
import type { AppOptions } from "./options.ts";
import type { State } from "./state.ts";

export interface SandboxParts {
  report: SandboxReport;
  drafts: Drafts & ChangesActions;
  containment: Containment;
  pluginLauncher: PluginLauncher;
  workingFolder(conversationId: string, scope: Scope): string;
  outputsFolder(scope: Scope): string;
  /** True for a folder that the settings give: others than the agent's people may have written what is in it. */
  isGivenFolder(folder: string): boolean;
  fileOrigins: FileOrigins;
  close(): Promise<void>;
}

export interface SandboxLinks {
  deliveries: Deliveries;
  approvals: Late<ApprovalDesk>;
  conversations: Late<Conversations>;
  toolbox: Late<Toolbox>;
  mayRepeat: MayRepeat;
}

const project = resolve(import.meta.dirname, "../..");
/** Where commands find Remora's own `node`. PATH lists it after the system's programs. */
const nodeInView = "/opt/node/bin";
const pathInView = `/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:${nodeInView}`;

export async function buildSandbox(options: AppOptions, state: State, links: SandboxLinks): Promise<SandboxParts> {
  const { settings, redact, log } = options;
  const { ledger, leases, bus, events, audit, wrap } = state;
  const { config, workspace } = settings;
  const draftsFolder = draftsFolderOf(workspace);
  await makeDraftFolders(draftsFolder);
  const sandbox = wrap("sandbox", openSandbox(settings, log));
  const report = await sandbox.probe();
  const egress = openEgress(settings, state, log);
  const workingFolder = (conversationId: string, scope: Scope) =>
    configuredFolder(settings, conversationId) ?? join(workspace, "files", folderNameOf(scope));
  const outputsFolder = (scope: Scope) => join(workspace, "outputs", folderNameOf(scope));
  await warnOfFolders(settings, log);
  const fileOrigins = createFileOrigins(ledger);
  /** As its links lead now. What is not in the folder of all conversations' own folders is nobody's own. */
  const isGiven = (folder: string) =>
    !isInside(folder, withoutLinks(join(workspace, "files"))) ||
    Object.values(config.folders).some((each) => withoutLinks(each) === folder);

  const drafts = createDrafts({
    ...{ ledger, leases, bus, events, audit, sandbox, egress, log },
    approvals: {
      openChanges: (request) => links.approvals.get().openChanges(request),
      redeemChanges: (id) => links.approvals.get().redeemChanges(id),
      finishChanges: (id, outcome) => links.approvals.get().finishChanges(id, outcome),
      mayTakeBack: (id, by) => links.approvals.get().mayTakeBack(id, by),
      replaceChanges: (id, reason) => links.approvals.get().replaceChanges(id, reason),
    },
    policy: config.safety.changes,
    undo: { maxAgeMs: config.safety.undo.days * 86_400_000, maxBytes: config.safety.undo.megabytes * 1024 * 1024 },
    folder: draftsFolder,
    isGiven,
    unconfinedRefusal:
      config.safety.sandbox === "required"
        ? `Nothing was run: the settings require a sandbox (safety.sandbox: required), and it does not hold here: ${report.detail}. Tell the operator.`
        : undefined,
    fileOrigins,
    outputsFolder,
    exposed: ({ scope: { scope }, usesOutputs }) => ({
      // Commands may run scripts that skills contain.
      readable: [...settings.skillRoots, ...config.sandbox.readable],
      mounts: [
        { from: dirname(process.execPath), at: nodeInView },
        // Outputs may contain other people's text, so only commands that name `/outputs` see them.
        ...(usesOutputs ? [{ from: outputsFolder(scope), at: "/outputs" }] : []),
      ],
    }),
    environment: { PATH: pathInView },
    async show(card) {
      const delivery = await links.deliveries.open(card.target);
      await delivery.ask(card).finally(() => delivery.leave());
    },
    isTainted: (turn) => isTainted(turn, links.toolbox.get().specs(turn.conversationId)),
    repeats: {
      mayRepeat: links.mayRepeat,
      accept: (message) => links.conversations.get().accept(message),
    },
    redact,
    specOf: (conversationId, tool) =>
      links.toolbox
        .get()
        .specs(conversationId)
        .find(({ name }) => name === tool),
    readCommandFiles,
  });

  const containment = createContainment({
    sandboxHolds: report.holds,
    fits: (folder) => sandbox.fits(withoutLinks(folder)),
    get asksForCommands() {
      return config.safety.shell === "ask";
    },
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
        folder: join(settings.data, "sandbox", "plugins"),
        node: `${nodeInView}/${basename(process.execPath)}`,
        environment: { PATH: pathInView },
      })
    : createUnconfinedLauncher();

  return {
    ...{ report, drafts, containment, pluginLauncher, workingFolder, outputsFolder, fileOrigins },
    isGivenFolder: (folder) => isGiven(withoutLinks(folder)),
    async close() {
      await drafts.close();
      await egress.close();
      await sandbox.close();
    },
  };
}

function openSandbox({ config, data, workspace }: Settings, log: Log): Sandbox {
  if (config.safety.sandbox === "off") return createSwitchedOffSandbox();
  // Hides these folders even inside a folder that every view shows, such as /usr/local.
  return createSandbox({ folder: join(data, "sandbox"), hidden: [workspace, data, project], log });
}

function openEgress({ config }: Settings, { events }: State, log: Log): Egress {
  const { allow, always, secrets } = config.sandbox.network;
  return createEgress({
    ...{ allow, always, secrets },
    log(connection) {
      log.info({ ...connection }, "a command used the network");
      events.emit("network.connection", connection);
    },
  });
}

async function warnOfFolders({ config }: Settings, log: Log): Promise<void> {
  for (const folder of new Set(Object.values(config.folders))) {
    const problem = await problemOfGivenFolder(folder);
    if (problem !== undefined) log.warn({ problem }, "a configured folder can't be used as it is");
  }
}
