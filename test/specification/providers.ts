/** Models and the cascade. The rows about moving on, offline and call formats point to the tests beside the cascade. */
import type { Section } from "./requirement.ts";

const cascade = "providers/cascade.test.ts";
const port = "conformance/provider.ts";
const movingOn = "providers/moving-on.test.ts";
const network = "providers/network.test.ts";
const textCalls = "providers/text-calls.test.ts";

export const providers: Section = {
  title: "providers",
  requirements: [
    {
      says: "a provider's stream never throws, and ends with exactly one end or error",
      shownBy: [
        [port, "text arrives in pieces, followed by exactly one end"],
        [cascade, "never shows anything twice and always ends once, whatever the providers do"],
      ],
    },
    {
      says: "Anthropic, OpenAI, Ollama and demo are tried in the configured order",
      shownBy: [
        ["providers/select.test.ts", "takes the ones with keys in the configured order, and no demo model"],
        ["providers/select.test.ts", "takes the demo model when nothing else is ready, and says what to set"],
      ],
    },
    {
      says: "the cascade moves on whenever another model could answer, and says so",
      shownBy: [
        [cascade, "moves on for a passing failure, and says so"],
        [movingOn, "%s lets the next model answer, which says why"],
      ],
    },
    {
      says: "the cascade does not move on once a call was given or a person saw text, but answers can begin again",
      shownBy: [
        [cascade, "does not move on once a call was given"],
        [movingOn, "a %s in the text is requested again once"],
        [cascade, "never shows anything twice and always ends once, whatever the providers do"],
      ],
      differs: "Answers that break off",
    },
    {
      says: "a prompt that is too long is sent once more with a smaller context, then to the next model",
      shownBy: [
        [movingOn, "a prompt that is too long is sent once more with a smaller context, to the same model"],
        [movingOn, "a prompt that is still too long goes, whole, to the next model"],
      ],
    },
    {
      says: "a provider whose key is refused rests until the key changes or an hour has passed",
      shownBy: [
        [movingOn, "rests for an hour, in the next process too, and the store never has the key"],
        [movingOn, "rests no longer once the key has changed"],
      ],
    },
    {
      says: "without a network the local model answers at once, and back online the first choice does",
      shownBy: [
        [network, "the local model answers, and no other service is asked; with a network, the first choice is back"],
        [network, "is asked with a short limit for the connection only if another model can answer"],
        [network, "costs one wait for all services, until one of them can be reached"],
      ],
    },
    {
      says: "tool calls of models without native calls are read from their text, in every usual form",
      shownBy: [
        [textCalls, "that is %s is a call"],
        [textCalls, "a call is a call, and nothing of it is shown"],
        [textCalls, "openai chat takes the older function_call, in pieces"],
      ],
    },
    {
      says: "text that only quotes a call stays text, and what others wrote never runs",
      shownBy: [
        [textCalls, "a call with words behind it stays text for someone who asks: %s"],
        [textCalls, "a call that was read in %s is not run"],
        [textCalls, "%s is shown as code when the model repeats it"],
        [textCalls, "is text, and never runs, if it stands in what the model has read"],
      ],
    },
    {
      says: "one model's rest does not stop the provider's other models",
      shownBy: [[cascade, "rests one model of a provider and not its others"]],
    },
    {
      says: "Retry-After is honoured",
      shownBy: [["providers/faults.test.ts", "a rate limit may say until when"]],
    },
    {
      says: "there are connect, first-token and idle timeouts",
      shownBy: [
        ["providers/faults.test.ts", "a connection that never stands ends by the connect time-out"],
        ["providers/faults.test.ts", "a service that never answers ends by the first-token time-out, and is let go"],
        ["providers/faults.test.ts", "a stream that goes quiet ends by the idle time-out, after what was said"],
      ],
    },
    {
      says: "the reply says which model answered when it was not the first choice",
      shownBy: [["engine/run-turn.test.ts", "of another model than the first says which one it was"]],
    },
    {
      says: "usage is counted per turn and person, with daily limits",
      shownBy: [
        ["usage/usage.test.ts", "adds up by person, channel, conversation and for everyone"],
        [
          "usage/usage.test.ts",
          "lets the call pass that reaches it, refuses those after it, and says whose it is and until when",
        ],
      ],
    },
  ],
};
