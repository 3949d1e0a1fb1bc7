/** The text of the launchd agent on macOS. Written from Apple's documentation, without a Mac to try it on. */
import type { ServicePlan } from "./systemd-unit.ts";

export const launchdLabel = "remora";
/** launchd starts a failing program at most this often. */
const throttleSeconds = 10;

export function launchdPlist(plan: ServicePlan, logFile: string): string {
  const words = [plan.node, ...plan.nodeOptions, plan.script, "start"];
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>${launchdLabel}</string>
  <key>ProgramArguments</key>
  <array>
${words.map((word) => `    <string>${xml(word)}</string>`).join("\n")}
  </array>
  <key>WorkingDirectory</key><string>${xml(plan.workingFolder)}</string>
${plan.envFile === undefined ? "" : `  <key>EnvironmentVariables</key><dict><key>REMORA_ENV_FILE</key><string>${xml(plan.envFile)}</string></dict>\n`}  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>ThrottleInterval</key><integer>${throttleSeconds}</integer>
  <key>Umask</key><integer>${0o077}</integer>
  <key>StandardOutPath</key><string>${xml(logFile)}</string>
  <key>StandardErrorPath</key><string>${xml(logFile)}</string>
</dict>
</plist>
`;
}

/** The folder that an agent works in. Undefined if the text is not one of ours. */
export function workingFolderOfPlist(plist: string): string | undefined {
  const [, folder] = /<key>WorkingDirectory<\/key><string>([^<]*)<\/string>/.exec(plist) ?? [];
  return folder?.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

function xml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
