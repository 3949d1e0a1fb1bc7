/** The phrases of the demo model. Each finds its tool by name, and uses the tool's schema to choose the argument. */
import type { JsonObject } from "../ports/message.ts";
import type { ToolSpec } from "../ports/tool.ts";

export interface DemoAnswer {
  text: string;
  call?: { name: string; inputJson: string };
}

/** Every answer starts with this label so that nobody takes it for a real model's. */
export const demoLabel = "*(demo model, no AI)*";

interface Phrase {
  example: string;
  does: string;
  pattern: RegExp;
  answer(match: RegExpExecArray, tools: ToolSpec[], now: Date): DemoAnswer | undefined;
}

const shellNames = [/^shell_exec$/, /shell|exec|run_command/];

const phrases: Phrase[] = [
  {
    example: "run curl -sI https://example.com with network example.com",
    does: "asks you first, then runs the command with network access to these hosts",
    pattern: /^(?:please\s+)?(?:run|execute)\s+(?:the\s+command\s+)?([\s\S]+?)\s+with\s+network\s+(\S[^\n]*)$/i,
    answer: ([, command = "", hosts = ""], tools) => {
      const network = hosts.split(/[\s,]+/).filter((host) => host !== "");
      const able = tools.filter(({ parameters }) => Object.hasOwn(Object(parameters.properties), "network"));
      return calling(able, shellNames, unquoted(command), "I'll ask for network access and run that command.", {
        network,
      });
    },
  },
  {
    example: "run touch hello.txt",
    does: "runs a shell command; its changes appear below the answer, and you can undo them",
    pattern: /^(?:please\s+)?(?:run|execute)\s+(?:the\s+command\s+)?([\s\S]+)$/i,
    answer: ([, command = ""], tools) => calling(tools, shellNames, unquoted(command), "I'll run that command."),
  },
  {
    example: "read notes.md",
    does: "reads a file",
    pattern: /^(?:please\s+)?(?:read|open|show me)\s+(?:the\s+file\s+)?(\S[^\n]*)$/i,
    answer: ([, path = ""], tools) =>
      calling(
        tools,
        [/^(?:read_file|file_read|fs_read)$/, /read.*file|file.*read/],
        unquoted(path),
        "I'll read that file.",
      ),
  },
  {
    example: "list the files",
    does: "lists the working folder",
    pattern: /^(?:please\s+)?(?:list|show)\s+(?:all\s+)?(?:the\s+|my\s+)?files\b/i,
    answer: (_match, tools) =>
      calling(
        tools,
        [/^(?:list_files|file_list|fs_list)$/, /list.*(?:file|dir|folder)|(?:file|dir|folder).*list/],
        ".",
        "I'll list the files.",
      ),
  },
  {
    example: "remember that the demo is on Friday",
    does: "saves a note in memory",
    pattern: /^(?:please\s+)?remember\s+(?:that\s+)?([\s\S]+)$/i,
    answer: ([, note = ""], tools) =>
      calling(
        tools,
        [/remember/, /memory.*(?:save|write|add)|(?:save|write|add).*memory/],
        note,
        "I'll remember that.",
      ),
  },
  {
    example: 'call shell_exec {"command":"date"}',
    does: "calls any tool with your arguments",
    pattern: /^call\s+([A-Za-z0-9_-]+)\s*([\s\S]*)$/i,
    // Pass the arguments on unchecked so that invalid calls can be tried too.
    answer: ([, name = "", inputJson = ""]) => ({ text: `I'll call \`${name}\`.`, call: { name, inputJson } }),
  },
  {
    example: "what time is it",
    does: "shows the server's date and time",
    pattern: /\bwhat(?:'s|\s+is)?\s+(?:the\s+)?(?:time|date|day)\b|^(?:time|date)\b/i,
    answer: (_match, _tools, now) => ({ text: `It is ${now.toISOString().replace("T", " ").slice(0, 16)} UTC here.` }),
  },
  {
    example: "hello",
    does: "greets",
    pattern: /^(?:hi|hello|hey|good (?:morning|afternoon|evening)|moin|hallo)\b/i,
    answer: () => ({ text: "Hello! I know only a few phrases. Say `help` to see them." }),
  },
];

export function demoAnswer(said: string, tools: ToolSpec[], now: Date): DemoAnswer {
  const text = withoutMention(said);
  if (/^(?:help|\?|what can you do)\b/i.test(text)) return { text: helpText(tools, now) };
  for (const { pattern, answer } of phrases) {
    const match = pattern.exec(text);
    const found = match === null ? undefined : answer(match, tools, now);
    if (found !== undefined) return found;
    if (match !== null)
      return {
        text: "That needs a tool that is not available in this conversation. Say `help` to see what I can do here.",
      };
  }
  return {
    text: `I don't understand free text. Say \`help\` to see the phrases I know. For a real model, set ANTHROPIC_API_KEY or OPENAI_API_KEY, or start Ollama.`,
  };
}

function helpText(tools: ToolSpec[], now: Date): string {
  const usable = phrases.filter(({ example, pattern, answer }) => {
    const match = pattern.exec(example);
    return match !== null && answer(match, tools, now) !== undefined;
  });
  const lines = usable.map(({ example, does }) => `- \`${example}\` — ${does}`);
  const names = tools.map((tool) => `\`${tool.name}\``).join(", ");
  return [
    "I know these phrases:",
    lines.join("\n"),
    `Tools in this conversation: ${names || "none"}.`,
    "For a real model, set ANTHROPIC_API_KEY or OPENAI_API_KEY, or start Ollama.",
  ].join("\n\n");
}

/** `@remora run ls`, `<@U123> run ls` and `Remora, run ls` all become `run ls`. */
function withoutMention(said: string): string {
  return said.replace(/^(?:\s*(?:<@[^>]+>|@[\p{L}\p{N}_-]+|remora)[\s,:]*)+/iu, "").trim();
}

function unquoted(text: string): string {
  const trimmed = text.trim();
  return /^(["'`])([\s\S]*)\1$/.exec(trimmed)?.[2]?.trim() ?? trimmed;
}

function calling(
  tools: ToolSpec[],
  names: RegExp[],
  text: string,
  say: string,
  more: JsonObject = {},
): DemoAnswer | undefined {
  const tool = names.map((name) => tools.find((known) => name.test(known.name))).find((found) => found !== undefined);
  if (tool === undefined) return undefined;
  return { text: say, call: { name: tool.name, inputJson: JSON.stringify({ ...inputWith(tool, text), ...more }) } };
}

function inputWith(tool: ToolSpec, text: string): Record<string, string> {
  const properties = tool.parameters.properties;
  const required = tool.parameters.required;
  if (typeof properties !== "object" || properties === null) return {};
  const texts = Object.entries(properties).filter(([, schema]) => schema?.type === "string");
  const [name] = texts.find(([key]) => Array.isArray(required) && required.includes(key)) ?? texts[0] ?? [];
  return name === undefined ? {} : { [name]: text };
}
