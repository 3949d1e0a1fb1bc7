/** What Ollama refuses, and what it does instead of refusing. */
import type { ModelRule } from "./rule.ts";

export const ollamaRules: readonly ModelRule[] = [];
