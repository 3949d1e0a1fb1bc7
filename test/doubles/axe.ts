/**
 * axe-core in the test's own tab: finds what people with a keyboard or a screen reader can't use.
 *
 *   expect(await axeFindings(tab)).toEqual([]);
 *
 * Runs the rules of WCAG 2.2 A and AA and axe's best practices in the light theme, and those about colours in the dark one.
 */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";

interface AxeResult {
  id: string;
  impact: string | null;
  help: string;
  nodes: { target: string[]; failureSummary?: string }[];
}

const impacts = ["serious", "critical"];
const maxShownNodes = 5;
const rulesOf = { light: {}, dark: { runOnly: ["color-contrast", "link-in-text-block"] } } as const;
const source = readFile(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

/** One line for each serious or critical finding. `include` is a selector that limits the check to one part. */
export async function axeFindings(tab: Page, include?: string): Promise<string[]> {
  const found: string[] = [];
  // `evaluate` is not subject to the page's content security policy, which forbids added scripts.
  await tab.evaluate(await source);
  for (const colorScheme of ["light", "dark"] as const) {
    await tab.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await tab.evaluate(drawn);
    const context = JSON.stringify(include ?? null);
    const options = JSON.stringify({ resultTypes: ["violations"], ...rulesOf[colorScheme] });
    const violations = await tab.evaluate<AxeResult[]>(
      `axe.run(${context} ?? document, ${options}).then(({ violations }) => violations)`,
    );
    found.push(...violations.filter(({ impact }) => impacts.includes(impact ?? "")).map(lineFor(colorScheme)));
  }
  await tab.emulateMedia({ colorScheme: null, reducedMotion: null });
  return found;
}

/** Resolves once the new theme is on the screen: axe would otherwise mix the colours of both. */
const drawn = `(async () => {
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  await frame();
  const passing = document.getAnimations().filter(({ effect }) => effect.getTiming().iterations !== Infinity);
  await Promise.allSettled(passing.map(({ finished }) => finished));
  await frame();
})()`;

function lineFor(theme: string): (result: AxeResult) => string {
  return ({ id, impact, help, nodes }) => {
    const places = nodes.slice(0, maxShownNodes).map(({ target, failureSummary = "" }) => {
      const [, reason = ""] = failureSummary.split("\n");
      return `${target.join(" ")} (${reason.trim()})`;
    });
    return `${theme}: ${impact} ${id}: ${help}: ${places.join("; ")}`;
  };
}
