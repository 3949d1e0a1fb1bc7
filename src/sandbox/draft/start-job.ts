/** Starts the command of a background job: in a view over the job's snapshot, or without a sandbox. */
import { realpath } from "node:fs/promises";
import { never } from "../../lib/never.ts";
import type { Audit } from "../../ports/audit.ts";
import type { Sandbox } from "../../ports/sandbox.ts";
import type { Egress } from "../egress/egress.ts";
import { startUnconfined } from "../unconfined.ts";
import type { CallRunnerOptions } from "./call-runner.ts";
import { networkRequester, openSession, startInView } from "./commands.ts";
import type { JobStart, StartedJob } from "./jobs.ts";

export interface JobStarterOptions extends Pick<CallRunnerOptions, "exposed" | "environment"> {
  sandbox: Sandbox;
  egress: Egress;
  audit: Audit;
}

export async function startJobCommand(options: JobStarterOptions, job: JobStart): Promise<StartedJob> {
  const { call, draft, frozen, text, layer, scratch } = job;
  if (draft === undefined) {
    const running = await startUnconfined(text, await realpath(call.scope.workingFolder));
    return { running, view: undefined, close: async () => running.kill() };
  }
  const { sandbox, environment } = options;
  const session = await openSession(options, call.network, networkRequester(call), never);
  const { readable, mounts } = options.exposed(call);
  const paths = { folder: draft.folder, layers: [...frozen.layers, layer], scratch, readable };
  const view = await sandbox.open({ ...paths, mounts: [...mounts, ...(session?.mounts ?? [])] }, never);
  const close = async () => {
    await session?.close();
    await view.close();
  };
  try {
    const running = await startInView({ view, session, environment }, text, never);
    return { running, view, close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}
