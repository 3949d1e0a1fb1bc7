/** Tool calls in streams of Chat Completions that broke other clients: arguments, indexes, ids and names. */
import { berlin, called, callPiece, chunk, done, type FieldShape, stream } from "./shape.ts";

const api = "openai chat";
const berlinJson = JSON.stringify(berlin);
const oneCall: FieldShape["outcome"] = { type: "answer", calls: [berlin], stop: "tool-calls" };

export const chatCalls: FieldShape[] = [
  {
    title: "complete calls without an index stay apart",
    api,
    source: "https://github.com/langchain-ai/langchain/pull/40562",
    answers: [
      stream(
        called({ id: "a", type: "function", function: { name: "look_up", arguments: berlinJson } }),
        called({ id: "b", type: "function", function: { name: "look_up", arguments: '{"place":"Rome"}' } }),
        ...[chunk({}, "tool_calls"), done],
      ),
    ],
    outcome: { type: "answer", calls: [berlin, { place: "Rome" }], stop: "tool-calls" },
  },
  {
    title: "pieces of arguments without an index belong to the call before them",
    api,
    source: "https://github.com/openai/openai-python/pull/3246",
    answers: [
      stream(
        called({ id: "a", type: "function", function: { name: "look_up", arguments: "" } }),
        ...[called({ function: { arguments: '{"place":' } }), called({ function: { arguments: '"Berlin"}' } })],
        ...[chunk({}, "tool_calls"), done],
      ),
    ],
    outcome: oneCall,
  },
  {
    title: "arguments that are an object count as its JSON",
    api,
    source: "https://github.com/can1357/oh-my-pi/pull/1779",
    answers: [stream(called(callPiece(0, "a", "look_up", berlin)), chunk({}, "tool_calls"), done)],
    outcome: oneCall,
  },
  {
    title: "a call with the index -1 in the chunk that ends the answer is a call",
    api,
    source: "https://github.com/zai-org/GLM-4.5/issues/17",
    answers: [stream(chunk({ tool_calls: [callPiece(-1, "call_W", "look_up", berlinJson)] }, "tool_calls"), done)],
    outcome: oneCall,
  },
  {
    title: "calls that share the index 0 stay apart by their ids, even if their arguments come in pieces",
    api,
    source: "https://github.com/mcowger/plexus/issues/691",
    answers: [
      stream(
        ...[called(callPiece(0, "a", "look_up", "")), called(callPiece(0, undefined, undefined, berlinJson))],
        ...[called(callPiece(0, "b", "look_up", "")), called(callPiece(0, undefined, undefined, '{"place":"Rome"}'))],
        ...[chunk({}, "tool_calls"), done],
      ),
    ],
    outcome: { type: "answer", calls: [berlin, { place: "Rome" }], stop: "tool-calls" },
  },
  {
    title: "an empty id in later pieces of a call is no new call",
    api,
    source: "https://github.com/symfony/ai/pull/2220",
    answers: [
      stream(
        ...[called(callPiece(0, "a", "look_up", '{"place":')), called(callPiece(0, "", undefined, '"Berlin"}'))],
        ...[chunk({}, "tool_calls"), done],
      ),
    ],
    outcome: oneCall,
  },
  {
    title: "id, type and name that come again with every piece make one call with one name",
    api,
    source: "https://github.com/SillyTavern/SillyTavern/pull/5948",
    answers: [
      stream(
        ...[called(callPiece(0, "a", "look_up", "")), called(callPiece(0, "a", "look_up", '{"place":'))],
        ...[called(callPiece(0, "a", "look_up", '"Berlin"}')), chunk({}, "tool_calls"), done],
      ),
    ],
    outcome: oneCall,
  },
  {
    title: "a name that comes again without an id is not joined to itself",
    api,
    source: "https://github.com/NousResearch/hermes-agent/pull/11984",
    answers: [
      stream(
        ...[called(callPiece(0, "a", "look_up", "")), called(callPiece(0, undefined, "look_up", berlinJson))],
        ...[chunk({}, "tool_calls"), done],
      ),
    ],
    outcome: oneCall,
  },
  {
    title: "a call without any id runs under an id of its own",
    api,
    source: "https://github.com/BerriAI/litellm/pull/29514",
    answers: [stream(called(callPiece(0, undefined, "look_up", berlinJson)), chunk({}, "tool_calls"), done)],
    outcome: oneCall,
  },
  {
    title: "an id that an earlier step has used is changed, so that no result belongs to two calls",
    api,
    source: "https://github.com/fw-ai/fireconnect/issues/16",
    answers: [stream(called(callPiece(0, "look_up:0", "look_up", berlinJson)), chunk({}, "tool_calls"), done)],
    earlierIds: ["look_up_0"],
    outcome: oneCall,
  },
  {
    title: 'arguments "null" of a tool that takes none are no arguments',
    api,
    source: "https://github.com/vercel/ai/pull/4755",
    answers: [stream(called(callPiece(0, "a", "now", "null")), chunk({}, "tool_calls"), done)],
    outcome: { type: "answer", calls: [{}], stop: "tool-calls" },
  },
  {
    title: 'arguments "null" of a tool that needs some are a problem that the model is told',
    api,
    source: "https://github.com/openclaw/openclaw/pull/72628",
    answers: [stream(called(callPiece(0, "a", "look_up", "null")), chunk({}, "tool_calls"), done)],
    outcome: { type: "answer", calls: [/Not run: the arguments of look_up/], stop: "tool-calls" },
  },
  {
    title: "a call without a word of arguments runs if its tool takes none",
    api,
    source: "https://github.com/open-webui/open-webui/pull/22189",
    answers: [stream(called(callPiece(0, "a", "now", "")), chunk({}, "tool_calls"), done)],
    outcome: { type: "answer", calls: [{}], stop: "tool-calls" },
  },
  {
    title: "arguments that a server sends twice run neither once nor with nothing",
    api,
    source: "https://github.com/lidge-jun/opencodex/issues/361",
    answers: [
      stream(
        ...[called(callPiece(0, "a", "look_up", berlinJson)), called(callPiece(0, undefined, undefined, berlinJson))],
        ...[chunk({}, "tool_calls"), done],
      ),
    ],
    outcome: { type: "answer", calls: [/Not run: the arguments of look_up are not valid JSON/], stop: "tool-calls" },
  },
];
