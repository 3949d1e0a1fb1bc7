/** Builds the reports of turns, with texts as on approval cards. */
import { callText, cleaner, escapeHidden, escapeHiddenLines } from "../approvals/card-text.ts";
import { callHeadline, markLineBreaks } from "../approvals/headline.ts";
import { toolPhrase } from "../engine/turn/tool-phrases.ts";
import type { Toolbox } from "../ports/tool.ts";
import type { TurnReports } from "../ports/turn-report.ts";
import { createTurnReports } from "../turn-report/create-report.ts";
import type { State } from "./state.ts";

export function buildTurnReports(
  { ledger, mask }: Pick<State, "ledger" | "mask">,
  specs: Toolbox["specs"],
): TurnReports {
  return createTurnReports({
    ledger,
    texts: {
      line: cleaner(mask),
      lines: (text) => escapeHiddenLines(mask(text)),
      call: (call) => callText(call, mask),
      headline(call, conversationId) {
        const ask = specs(conversationId).find(({ name }) => name === call.name)?.ask;
        return ask === undefined ? undefined : callHeadline(call, ask, mask).text;
      },
      done(call, conversationId) {
        const spec = specs(conversationId).find(({ name }) => name === call.name);
        if (spec?.phrases === undefined) return undefined;
        // Mask whole values before the phrase shortens them, or a part of a secret could remain.
        const shown = Object.entries(call.input).map(([key, value]) => [
          key,
          typeof value === "string" ? escapeHidden(markLineBreaks(mask(value))) : value,
        ]);
        const asCode = (value: string) => `\`${value.replaceAll("`", "'")}\``;
        const phrases = { ...spec.phrases, done: escapeHidden(spec.phrases.done) };
        return mask(toolPhrase(call.name, Object.fromEntries(shown), { ...spec, phrases }, "done", asCode));
      },
      actsOutside(tool, conversationId) {
        const spec = specs(conversationId).find(({ name }) => name === tool);
        // The skill may have been removed since.
        return spec === undefined || (spec.isOutward && !spec.isReadOnly);
      },
    },
  });
}
