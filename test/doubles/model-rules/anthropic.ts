/** What Anthropic's own service refuses. */
import type { ModelRule } from "./rule.ts";

export const anthropicRules: readonly ModelRule[] = [];
