/** The services that a double of a model service can be, each with what it refuses and the shape that it gives answers. */
import { anthropicRules, apiKeyGatewayRules, bearerGatewayRules, bedrockGatewayRules } from "./anthropic.ts";
import { shapeClaudeAnswer } from "./anthropic-shapes.ts";
import { groqRules } from "./groq.ts";
import { bedrockRules, deepSeekRules, reasoningDetails } from "./hosted.ts";
import { llamaCppRules, lmStudioRules, vllmRules } from "./local-servers.ts";
import { mistralRules } from "./mistral.ts";
import { ollamaRules } from "./ollama.ts";
import { openAiRules } from "./openai.ts";
import { azureRules, gatewayRules, geminiRules, openRouterRules, vertexRules, xaiRules } from "./openai-compatible.ts";
import { type ModelCall, type ModelRule, pathRule } from "./rule.ts";

const atUsualPaths = pathRule(
  ["/v1/responses", "/v1/chat/completions", "/v1/messages"],
  "https://github.com/OpenHands/OpenHands/issues/485",
  {
    message: "Not Found",
  },
);

export const rulesOfServices = {
  anthropic: anthropicRules,
  openai: openAiRules,
  ollama: ollamaRules,
  gemini: geminiRules,
  vertex: vertexRules,
  azure: azureRules,
  openRouter: openRouterRules,
  openRouterWithGemini: [...openRouterRules, reasoningDetails],
  xai: xaiRules,
  gateway: gatewayRules,
  groq: groqRules,
  mistral: mistralRules,
  deepSeek: deepSeekRules,
  bedrock: bedrockRules,
  vllm: vllmRules,
  llamaCpp: llamaCppRules,
  lmStudio: lmStudioRules,
  /** A server that speaks these protocols and refuses nothing. */
  any: [atUsualPaths],
  /** Gateways in front of Claude that read one of the two headers with the key. */
  "gateway with x-api-key": apiKeyGatewayRules,
  "gateway with bearer tokens": bearerGatewayRules,
  "gateway to Amazon's models": bedrockGatewayRules,
} satisfies Record<string, readonly ModelRule[]>;

export type ModelService = keyof typeof rulesOfServices;

/** The answer as the service would stream it. */
export function shapedAnswer(service: ModelService, call: ModelCall, answer: string): string {
  return service === "anthropic" ? shapeClaudeAnswer(call, answer) : answer;
}

/** The service that a path belongs to by its protocol. OpenAI's refuses what none of them has. */
export function serviceOfPath(path: string): ModelService {
  if (path.startsWith("/v1/messages")) return "anthropic";
  return path.startsWith("/api/") ? "ollama" : "openai";
}
