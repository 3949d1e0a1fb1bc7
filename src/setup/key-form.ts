/** Recognizes keys of another service by their form, and what is no key, so that they are not sent to a model's server. */
import { tokenFormProblem } from "../lib/text/clean-token.ts";
import type { CheckProblem } from "../ports/check.ts";
import type { ProviderName } from "./services.ts";

const anthropic = { form: /^sk-ant-/, what: "a key of Anthropic (sk-ant-…)" };
const openai = { form: /^sk-(?:proj|svcacct|admin)-|^sk-\w*T3BlbkFJ/, what: "a key of OpenAI" };
const notForModels = [
  { form: /^xapp-/, what: "a Slack app token (xapp-…)" },
  { form: /^xoxb-/, what: "a Slack bot token (xoxb-…)" },
  { form: /^xox[a-z](?:\.xox[a-z])?-/, what: "a Slack token" },
  { form: /^(?:Bot\s+)?[\w-]{23,28}\.[\w-]{6,7}\.[\w-]{27,}$/, what: "a Discord token" },
  { form: /^(?:gh[pousr]_|github_pat_)/, what: "a GitHub token" },
];

/** A server with OpenAI's protocol may take keys of any model service. */
const wrongFor: Record<ProviderName, typeof notForModels> = {
  anthropic: [...notForModels, openai],
  openai: [...notForModels, anthropic],
  ollama: notForModels,
  compatible: notForModels,
};

export function keyFormProblem(provider: ProviderName, key: string): CheckProblem | undefined {
  const unusual = tokenFormProblem(key);
  if (unusual !== undefined) return problem(`The key ${unusual}. It was not sent.`, "Copy it again, and only the key.");
  const wrong = wrongFor[provider].find(({ form }) => form.test(key));
  if (wrong === undefined) return undefined;
  const text = `This is ${wrong.what}, not a key for this model. It was not sent.`;
  return problem(text, "Copy the key from the model service's own page.");
}

function problem(text: string, fix: string): CheckProblem {
  return { ok: false, code: "setup.wrong-key", problem: text, fix };
}
