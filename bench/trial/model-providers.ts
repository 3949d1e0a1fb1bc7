/** Where a provider's address and key stand, and its address for OpenAI's Chat Completions. */
interface ModelProvider {
  address: string;
  key?: string;
  chatUrl(url?: string): string;
}

const providers: Record<string, ModelProvider> = {
  openai: {
    ...{ address: "OPENAI_BASE_URL", key: "OPENAI_API_KEY" },
    chatUrl: (url = "https://api.openai.com/v1") => url,
  },
  anthropic: {
    ...{ address: "ANTHROPIC_BASE_URL", key: "ANTHROPIC_API_KEY" },
    chatUrl: (url = "https://api.anthropic.com") => `${url.replace(/\/$/, "")}/v1`,
  },
  ollama: { address: "OLLAMA_HOST", chatUrl: (url = "http://127.0.0.1:11434") => `${url.replace(/\/$/, "")}/v1` },
};

export function providerOf(model: string): ModelProvider {
  const [, name = "", rest] = /^([^/]*)\/(.+)$/.exec(model) ?? [];
  const provider = Object.hasOwn(providers, name) ? providers[name] : undefined;
  if (provider !== undefined && rest !== undefined) return provider;
  throw new Error(
    `--model ${model}: write PROVIDER/NAME; the provider is one of ${Object.keys(providers).join(", ")}.`,
  );
}
