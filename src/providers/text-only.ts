/**
 * For the last step of a turn, in which no tool may be called. The tools stay in the request, because a prompt without them is in no
 * cache, and a local server would read all of it again. Where that is not obeyed, or refused, the model is asked once more without
 * tools, and for a while without from the start:
 *
 *   Ollama, also behind OpenAI's protocol   knows no `tool_choice`: github.com/ollama/ollama/issues/17921
 *   llama.cpp                               keeps the tools in the prompt (of 764 tokens 726 came from its cache, without tools 183 of 283),
 *                                           and leaves what the model writes as a call in the text (common/chat-auto-parser-generator.cpp)
 *   Groq                                    refuses the answer: github.com/OpenHands/OpenHands/issues/11725
 *   OpenRouter                              finds no server for it: github.com/polyuiislab/infiAgent/issues/19
 */
import type { RemoraError } from "../lib/errors.ts";
import type { ModelEvent, ModelRequest } from "../ports/provider.ts";

export interface TextOnlyFallback {
  /** `ask` gets the request as it is to be sent. */
  stream(
    model: string,
    request: ModelRequest,
    ask: (sent: ModelRequest) => AsyncIterable<ModelEvent>,
  ): AsyncGenerator<ModelEvent>;
}

/** Then the tools are sent again, because the operator may have changed what serves the model. */
const maxWithoutMs = 3_600_000;

export function createTextOnlyFallback(now: () => number = Date.now): TextOnlyFallback {
  const withoutUntil = new Map<string, number>();

  async function* withoutTools(
    model: string,
    request: ModelRequest,
    ask: Parameters<TextOnlyFallback["stream"]>[2],
  ): AsyncGenerator<ModelEvent> {
    for await (const event of ask({ ...request, tools: [] })) {
      if (event.type === "end" && !isWithout(model)) withoutUntil.set(model, now() + maxWithoutMs);
      // None may be called, and some models write one whatever they are offered.
      if (event.type !== "tool-call") yield event;
    }
  }

  const isWithout = (model: string) => (withoutUntil.get(model) ?? 0) > now();

  return {
    async *stream(model, request, ask) {
      if (request.mayCall !== false || request.tools.length === 0) return yield* ask(request);
      if (isWithout(model)) return yield* withoutTools(model, request, ask);
      const mayTry = () => (request.tries?.left ?? 1) > 0;
      let hasOutput = false;
      let hasCalls = false;
      for await (const event of ask(request)) {
        if (event.type === "error" && !hasOutput && mayTry() && isAboutTools(event.error))
          return yield* withoutTools(model, request, ask);
        if (event.type === "tool-call") {
          hasCalls = true;
          continue;
        }
        if (event.type === "end" && hasCalls && mayTry()) {
          yield { type: "restart", model: event.model, usage: event.usage };
          return yield* withoutTools(model, request, ask);
        }
        hasOutput ||= event.type !== "notice";
        yield event;
      }
    },
  };
}

/** Most services name what they refuse. One that names nothing has taken the tools in the steps before. */
function isAboutTools({ code, message }: RemoraError): boolean {
  const isOfRequest = /^provider\.(?:bad-request|bad-call|unknown-model|no-tools|tools-off|not-an-api)$/.test(code);
  return isOfRequest && /\btools?\b|tool_|function/i.test(message);
}
