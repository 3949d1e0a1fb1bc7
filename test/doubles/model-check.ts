/** The message of a call that only checks whether the model answers (src/health/model-call.ts). Doubles do not count it. */
export const modelCheckText = "Reply with the word ok.";
