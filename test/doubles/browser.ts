/**
 * A real Chromium for page tests, without background requests.
 *
 *   const browser = await launchBrowser();
 *
 * Without the program, suites are skipped with the reason (`describe.skipIf(missingBrowser !== undefined)`). With `CI=true`
 * nothing can be skipped: `missingBrowser` stays undefined, and `launchBrowser` fails with that reason.
 */
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const executablePath = "/usr/bin/chromium";
const problem = existsSync(executablePath)
  ? undefined
  : `no Chromium at ${executablePath}; install it: apt-get install -y chromium`;

/** Why browser suites are skipped; undefined when they must run. */
export const missingBrowser = process.env.CI === "true" ? undefined : problem;

/** Appended to a suite's name, so the report shows the reason. */
export const browserNote = missingBrowser === undefined ? "" : ` (skipped: ${missingBrowser})`;

export async function launchBrowser(): Promise<Browser> {
  if (problem !== undefined) throw new Error(problem);
  return await chromium.launch({
    executablePath,
    args: [
      "--no-sandbox",
      "--headless",
      "--disable-gpu",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--no-first-run",
    ],
  });
}
