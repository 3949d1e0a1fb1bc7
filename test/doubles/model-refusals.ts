/**
 * How each service streams an answer that its model declines to give. Ollama has no such end.
 *
 *   Anthropic         stop_reason `refusal`, with `stop_details` for classifiers
 *   Chat Completions  finish_reason `content_filter`, or the model's own words in `delta.refusal`. Gemini's compatible address
 *                     adds its reason: `content_filter: PROHIBITED_CONTENT`
 *   Responses         status `incomplete` with the reason `content_filter`, or the model's own words as a refusal
 *
 * Read on 2026-11-27:
 * https://platform.claude.com/docs/en/test-and-evaluate/strengthen-guardrails/handle-streaming-refusals
 * https://github.com/openai/openai-agents-python/pull/4234, https://github.com/HKUDS/Vibe-Trading/pull/308
 */

export interface ScriptedRefusal {
  /** Words of the answer that come before. */
  said?: string;
  /** A call that comes before. */
  call?: { id: string; name: string; arguments: string };
  /** Anthropic only. */
  category?: string | null;
  explanation?: string | null;
  /** OpenAI only: the model's own sentence. */
  words?: string;
  /** Chat Completions only; `content_filter` if absent. */
  finish?: string;
}

export function refusalStream(path: string, refusal: ScriptedRefusal): string {
  switch (path) {
    case "/v1/messages":
      return events(claudeFrames(refusal));
    case "/v1/chat/completions":
      return `${chatChunks(refusal)
        .map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
        .join("")}data: [DONE]\n\n`;
    case "/v1/responses":
      return events(responseFrames(refusal));
    default:
      throw new Error(`${path} has no way to say that a model declined`);
  }
}

function events(frames: { type: string }[]): string {
  return frames.map((frame) => `event: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`).join("");
}

const wordsOf = (text = ""): string[] => text.match(/\s*\S+\s*?/g) ?? [];

function claudeFrames({ said, call, category, explanation = null }: ScriptedRefusal) {
  const usage = { input_tokens: 1_000, output_tokens: wordsOf(said).length };
  const inBlock = (index: number, content_block: object, deltas: object[]) => [
    { type: "content_block_start", index, content_block },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
  const text = wordsOf(said).map((word) => ({ type: "text_delta", text: word }));
  const textFrames = said === undefined ? [] : inBlock(0, { type: "text", text: "" }, text);
  const callFrames =
    call === undefined
      ? []
      : inBlock(1, { type: "tool_use", id: call.id, name: call.name, input: {} }, [
          { type: "input_json_delta", partial_json: call.arguments },
        ]);
  const stop_details = category === undefined ? null : { type: "refusal", category, explanation };
  return [
    { type: "message_start", message: { id: "m", type: "message", role: "assistant", content: [], usage } },
    ...textFrames,
    ...callFrames,
    { type: "message_delta", delta: { stop_reason: "refusal", stop_sequence: null, stop_details }, usage },
    { type: "message_stop" },
  ];
}

function chatChunks({ said, call, words, finish = "content_filter" }: ScriptedRefusal) {
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    ...{ id: "c", object: "chat.completion.chunk", created: 1, model: "m" },
    choices: [{ index: 0, delta, finish_reason }],
  });
  const calls = call && [
    { index: 0, id: call.id, type: "function", function: { name: call.name, arguments: call.arguments } },
  ];
  const usage = { prompt_tokens: 1_000, completion_tokens: wordsOf(said).length, total_tokens: 1_000 };
  return [
    chunk({ role: "assistant", content: "" }),
    ...wordsOf(said).map((content) => chunk({ content })),
    ...(calls === undefined ? [] : [chunk({ tool_calls: calls })]),
    ...wordsOf(words).map((refusal) => chunk({ refusal })),
    chunk({}, words === undefined ? finish : "stop"),
    { ...chunk({}), choices: [], usage },
  ];
}

function responseFrames({ said, call, words }: ScriptedRefusal) {
  const usage = { input_tokens: 1_000, output_tokens: wordsOf(said).length, total_tokens: 1_000 };
  const id = { item_id: "msg_1", output_index: 0, content_index: 0 };
  const item = call && {
    ...{ type: "function_call", id: "fc_1", call_id: call.id, status: "completed" },
    ...{ name: call.name, arguments: call.arguments },
  };
  const response = { id: "resp_1", status: "in_progress", output: [], usage: null };
  return [
    { type: "response.created", response },
    ...wordsOf(said).map((delta) => ({ type: "response.output_text.delta", ...id, delta })),
    ...(item === undefined ? [] : [{ type: "response.output_item.done", output_index: 1, item }]),
    ...wordsOf(words).map((delta) => ({ type: "response.refusal.delta", ...id, delta })),
    words === undefined
      ? {
          type: "response.incomplete",
          response: { ...response, status: "incomplete", incomplete_details: { reason: "content_filter" }, usage },
        }
      : { type: "response.completed", response: { ...response, status: "completed", incomplete_details: null, usage } },
  ];
}
