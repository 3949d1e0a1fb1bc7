/**
 * What people read when no model answered: one plain sentence that says whether to try again. It has no codes, names of settings
 * or advice for operators; those are in the reason, which Details shows, and which the owners and the log get.
 */
import type { RemoraError } from "../../lib/errors.ts";

const forOperators = "Whoever runs me has to fix that; Details says why.";
const soon = "Please try again in a few minutes.";

const closed = `its service does not let me in. ${forOperators}`;
const usedUp = `my account with its service is used up. ${forOperators}`;
const wronglySet = `it is not set up as it should be. ${forOperators}`;
const busy = `too much is asked of it at the moment. ${soon}`;
const away = `I can't reach it at the moment. ${soon}`;
const broken = "its answer broke off. Please try again.";
const slow = "it took too long. Please try again.";

/** By the codes of `failureKinds` and of the parts around it. */
const sentences: Readonly<Record<string, string>> = {
  ...{ "provider.wrong-key": closed, "provider.region": closed, "provider.forbidden": closed },
  ...{ "provider.no-credit": usedUp, "provider.spend-limit": usedUp },
  ...{ "provider.unknown-model": wronglySet, "provider.model-ended": wronglySet, "provider.not-an-api": wronglySet },
  ...{ "provider.no-tools": wronglySet, "provider.tools-off": wronglySet, "provider.wrong-api": wronglySet },
  ...{ "provider.bad-url": wronglySet, "provider.bad-certificate": wronglySet, "provider.no-memory": wronglySet },
  ...{ "provider.rate-limited": busy, "provider.overloaded": busy, "provider.full": busy, "provider.busy": busy },
  ...{ "provider.offline": away, "provider.unreachable": away, "provider.connect-timeout": away },
  ...{ "provider.out-of-files": away, "provider.cut": broken, "provider.malformed": broken },
  ...{ "provider.first-token-timeout": slow, "provider.idle-timeout": slow },
  "provider.loading": "it is still starting. Please try again in a minute.",
  "provider.server-error": `its service failed. ${soon}`,
  "provider.bad-call": "it made a mistake that its service could not read. Please try again.",
  "provider.bad-request":
    "its service refused this request. Please ask in other words, or start over with /remora new.",
  "provider.too-long": "this is too long for it. Please write less, or send it in parts.",
  "provider.empty": "its answer was empty. Please try again, or ask in other words.",
  "provider.endless": "its answer did not end, so I stopped it. Please ask in other words, or for less at once.",
  "provider.aborted": "the request was stopped.",
};

const unknown = "something went wrong with its service. Please try again";

export function failureText({ code, plain, isRetryable }: RemoraError, isLater: boolean): string {
  // The reason of a refusal is the answer.
  if (code === "provider.refused") return `${plain}.`;
  if (code === "provider.all-failed")
    return `None of my models could answer. ${isRetryable ? "Please try again in a few minutes; Details says why." : forOperators}`;
  const more = code === "provider.too-long" && isLater ? " A new conversation is shorter: /remora new." : "";
  const otherwise = isRetryable ? `${unknown} in a few minutes.` : `${unknown}; Details says why.`;
  return `The model could not answer: ${sentences[code] ?? otherwise}${more}`;
}
