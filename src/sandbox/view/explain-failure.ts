/** Explains from the failed step why this machine can't create views, and what to do. */
import { readFile } from "node:fs/promises";
import { codeOf } from "../../lib/errors.ts";
import { isOutOfFiles } from "../../lib/shortage.ts";
import type { LauncherFailure } from "./view-process.ts";

const container =
  "in a container, allow them (Docker: --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined)";

export async function explainFailure({ step, errorName, cause }: LauncherFailure): Promise<string> {
  const failed = `${step}: ${errorName}`;
  if (isOutOfFiles(cause))
    return `too many files are open (${failed}): raise the limit of open files (ulimit -n, or LimitNOFILE of the service)`;
  if (codeOf(cause) === "ENOENT")
    return `the launcher is gone (${failed}): nothing else may delete files in the data folder; try again`;
  if (errorName === "ENOSYS") return `the kernel is too old (${failed}): views need Linux 5.12 or newer`;
  if (step === "start the launcher" || step === "start")
    return `the launcher can't be started (${failed}): keep the data folder on a file system without the option noexec`;
  if (step === "mount /proc") return `a view can't have its own /proc (${failed}): ${container}`;
  if (step === "make namespaces" && errorName === "ENOSPC")
    return `no more user namespaces are allowed (${failed}): raise the sysctl user.max_user_namespaces`;
  if (["EPERM", "EACCES", "EINVAL"].includes(errorName)) return `${await explainRefusal()} (${failed})`;
  return `a view can't be made (${failed})`;
}

/** Since Linux 5.12, root needs this capability to map itself into a new user namespace. */
const CAP_SETFCAP = 31n;

async function explainRefusal(): Promise<string> {
  const isSet = async (path: string, value: string) =>
    (await readFile(`/proc/sys/${path}`, "utf8").catch(() => "")).trim() === value;
  if (await isSet("kernel/unprivileged_userns_clone", "0"))
    return "user namespaces are switched off: set the sysctl kernel.unprivileged_userns_clone to 1";
  if (await isSet("user/max_user_namespaces", "0"))
    return "user namespaces are switched off: raise the sysctl user.max_user_namespaces";
  if (await isSet("kernel/apparmor_restrict_unprivileged_userns", "1"))
    return "AppArmor restricts user namespaces: set the sysctl kernel.apparmor_restrict_unprivileged_userns to 0";
  if (process.geteuid?.() === 0 && !(await hasCapability(CAP_SETFCAP)))
    return "root without the capability SETFCAP can't make views: start as an ordinary user, or add the capability";
  return `this process may not make user namespaces and mounts: ${container}`;
}

async function hasCapability(capability: bigint): Promise<boolean> {
  const status = await readFile("/proc/self/status", "utf8").catch(() => "");
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? "0";
  return ((BigInt(`0x${effective}`) >> capability) & 1n) === 1n;
}
