/**
 * How chat templates let models write calls. Each line stands in a template or a test of llama.cpp (`models/templates`,
 * `tests/test-chat.cpp`), or is a slip of small models that public reports show.
 */
const json = JSON.stringify;

export interface Dialect {
  name: string;
  write(tool: string, input: Record<string, unknown>): string;
  /** No tag announces the call, so words must not follow. */
  isBare?: true;
  /** Can only be the whole answer. */
  isAlone?: true;
}

const python = (value: unknown): string => {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (typeof value !== "object") return json(value);
  const members = Object.entries(value ?? {}).map(([key, inner]) => `${json(key)}: ${python(inner)}`);
  return `{${members.join(", ")}}`;
};
const keywords = (input: Record<string, unknown>) =>
  Object.entries(input)
    .map(([key, value]) => `${key}=${python(value)}`)
    .join(", ");
const plain = (value: unknown) => (typeof value === "string" ? value : json(value));
const tags = (input: Record<string, unknown>, write: (key: string, value: string) => string, between = "") =>
  Object.entries(input)
    .map(([key, value]) => write(key, plain(value)))
    .join(between);
const hermes = (name: string, input: object) => json({ name, arguments: input });
const gemmaValue = (value: unknown): string =>
  typeof value === "string"
    ? `<|"|>${value}<|"|>`
    : Array.isArray(value)
      ? `[${value.map(gemmaValue).join(",")}]`
      : json(value);

export const dialects: Dialect[] = [
  {
    name: "Hermes, Qwen 2.5 and 3, Granite 4",
    write: (name, input) => `<tool_call>\n${hermes(name, input)}\n</tool_call>`,
  },
  {
    name: "Hermes with doubled outer braces",
    write: (name, input) => `<tool_call>\n{${hermes(name, input)}}\n</tool_call>`,
  },
  {
    name: "Hermes with single quotes",
    write: (name, input) => `<tool_call>{'name': '${name}', 'arguments': ${python(input)}}</tool_call>`,
  },
  {
    name: "Hermes without the last brace",
    write: (name, input) => `<tool_call>${hermes(name, input).slice(0, -1)}</tool_call>`,
  },
  { name: "Hermes with a brace too many", write: (name, input) => `<tool_call>${hermes(name, input)}}</tool_call>` },
  {
    name: "Qwen 2.5, into the tag of the list of tools",
    write: (name, input) => `<tools>\n${hermes(name, input)}\n</tools>`,
  },
  {
    name: "Qwen 2.5, with its template's doubled brace",
    write: (name, input) => `<tools>\n{${hermes(name, input)}\n</tools>`,
  },
  { name: "Hermes without a closing tag", write: (name, input) => `<tool_call>${hermes(name, input)}` },
  {
    name: "Hermes with the tag twice",
    write: (name, input) => `<tool_call>\n<tool_call>\n${hermes(name, input)}\n</tool_call>`,
  },
  {
    name: "Qwen 3 Coder, Nemotron 3, StepFun",
    write: (name, input) =>
      `<tool_call>\n<function=${name}>\n${tags(input, (key, value) => `<parameter=${key}>\n${value}\n</parameter>\n`)}</function>\n</tool_call>`,
  },
  {
    name: "Qwen 3 Coder without the outer tag",
    write: (name, input) =>
      `<function=${name}>\n${tags(input, (key, value) => `<parameter=${key}>\n${value}\n</parameter>\n`)}</function>`,
  },
  {
    name: "Qwen 3 Coder without ends of parameters",
    write: (name, input) =>
      `<tool_call>\n<function=${name}>\n${tags(input, (key, value) => `<parameter=${key}>\n${value}\n`)}</function>\n</tool_call>`,
  },
  { name: "LFM 2", write: (name, input) => `<|tool_call_start|>[${name}(${keywords(input)})]<|tool_call_end|>` },
  { name: "LFM 2 without its tokens", isBare: true, write: (name, input) => `[${name}(${keywords(input)})]` },
  {
    name: "Llama 3 with its token",
    write: (name, parameters) => `<|python_tag|>${json({ name, parameters })}<|eom_id|>`,
  },
  { name: "Llama 3 in Python's words", write: (name, input) => `<|python_tag|>${name}(${keywords(input)})<|eom_id|>` },
  { name: "Llama 3 with a function tag", write: (name, input) => `<function=${name}>${json(input)}</function>` },
  {
    name: "Mistral Nemo",
    write: (name, input) => `[TOOL_CALLS][${json({ name, arguments: input, id: "123456789" })}]`,
  },
  { name: "Mistral Small 3.2", write: (name, input) => `[TOOL_CALLS]${name}[CALL_ID]123456789[ARGS]${json(input)}` },
  { name: "Devstral", write: (name, input) => `[TOOL_CALLS]${name}[ARGS]${json(input)}` },
  { name: "Devstral without its tokens", isAlone: true, write: (name, input) => `${name}${json(input)}` },
  {
    name: "a fence",
    isBare: true,
    write: (name, input) => `\`\`\`json\n${json({ name, arguments: input }, null, 2)}\n\`\`\``,
  },
  {
    name: "a fence that says tool_call",
    isBare: true,
    write: (name, input) => `\`\`\`tool_call\n${hermes(name, input)}\n\`\`\``,
  },
  {
    name: "a fence with tags in it",
    isBare: true,
    write: (name, input) => `\`\`\`xml\n<tool_call>${hermes(name, input)}</tool_call>\n\`\`\``,
  },
  { name: "an object on a line", isBare: true, write: (name, parameters) => json({ name, parameters }) },
  { name: "Gemma 3", isBare: true, write: (name, input) => `\`\`\`tool_code\n${name}(${keywords(input)})\n\`\`\`` },
  {
    name: "Gemma 3 with print",
    isBare: true,
    write: (name, input) => `\`\`\`tool_code\nprint(default_api.${name}(${keywords(input)}))\n\`\`\``,
  },
  {
    name: "Gemma 4",
    write: (name, input) =>
      `<|tool_call>call:${name}{${Object.entries(input)
        .map(([key, value]) => `${key}:${gemmaValue(value)}`)
        .join(",")}}<tool_call|>`,
  },
  {
    name: "DeepSeek R1",
    write: (name, input) =>
      `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>${name}\n\`\`\`json\n${json(input)}\n\`\`\`<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
  },
  {
    name: "DeepSeek 3.1",
    write: (name, input) =>
      `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>${name}<｜tool▁sep｜>${json(input)}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
  },
  {
    name: "DeepSeek 3.2",
    write: (name, input) =>
      `<｜DSML｜function_calls>\n<｜DSML｜invoke name="${name}">\n${tags(input, (key, value) => `<｜DSML｜parameter name="${key}" string="true">${value}</｜DSML｜parameter>\n`)}</｜DSML｜invoke>\n</｜DSML｜function_calls>`,
  },
  { name: "Granite 3", write: (name, input) => `<|tool_call|>[${hermes(name, input)}]` },
  { name: "Functionary 3.2", write: (name, input) => `>>>${name}\n${json(input)}` },
  { name: "Functionary 3.2 as the whole answer", isAlone: true, write: (name, input) => `${name}\n${json(input)}` },
  {
    name: "GLM 4.6",
    write: (name, input) =>
      `<tool_call>${name}\n${tags(input, (key, value) => `<arg_key>${key}</arg_key>\n<arg_value>${value}</arg_value>\n`)}</tool_call>`,
  },
  {
    name: "gpt-oss",
    write: (name, input) =>
      `<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>${json(input)}<|call|>`,
  },
  {
    name: "gpt-oss after thinking",
    write: (name, input) =>
      `<|channel|>analysis<|message|>I need it.<|end|><|start|>assistant to=functions.${name}<|channel|>commentary<|message|>${json(input)}<|call|>`,
  },
  {
    name: "Kimi K2",
    write: (name, input) =>
      `<|tool_calls_section_begin|><|tool_call_begin|>functions.${name}:0<|tool_call_argument_begin|>${json(input)}<|tool_call_end|><|tool_calls_section_end|>`,
  },
  {
    name: "MiniMax M2",
    write: (name, input) =>
      `<minimax:tool_call>\n<invoke name="${name}">\n${tags(input, (key, value) => `<parameter name="${key}">${value}</parameter>\n`)}</invoke>\n</minimax:tool_call>`,
  },
  { name: "MiniMax M1, Apriel", write: (name, input) => `<tool_calls>\n[${hermes(name, input)}]\n</tool_calls>` },
  {
    name: "Seed OSS",
    write: (name, input) =>
      `<seed:tool_call>\n<function=${name}>\n${tags(input, (key, value) => `<parameter=${key}>${value}</parameter>\n`)}</function>\n</seed:tool_call>`,
  },
  { name: "Nemotron Nano 2", write: (name, input) => `<TOOLCALL>[${hermes(name, input)}]</TOOLCALL>` },
  {
    name: "Command R7B",
    write: (name, parameters) =>
      `<|START_ACTION|>[\n    ${json({ tool_call_id: "0", tool_name: name, parameters })}\n]<|END_ACTION|>`,
  },
  { name: "Apertus", write: (name, input) => `<|tools_prefix|>[${json({ [name]: input })}]<|tools_suffix|>` },
  { name: "LM Studio's own", write: (name, input) => `[TOOL_REQUEST]${hermes(name, input)}[END_TOOL_REQUEST]` },
  {
    name: "MiniCPM 5",
    write: (name, input) =>
      `<function name="${name}">${tags(input, (key, value) => `<param name="${key}">${value}</param>`)}</function>`,
  },
  { name: "GigaChat 3.1", write: (name, input) => `<|function_call|>${hermes(name, input)}` },
];

export interface Thinking {
  name: string;
  write(thought: string): string;
}

export const thinkings: Thinking[] = [
  ...["think", "thinking", "thought", "reasoning", "seed:think", "mm:think", "THINK"].map((tag) => ({
    name: `<${tag}>`,
    write: (thought: string) => `<${tag}>\n${thought}\n</${tag}>\n\n`,
  })),
  { name: "Mistral's", write: (thought) => `[THINK]${thought}[/THINK]` },
  { name: "Kimi VL's", write: (thought) => `◁think▷${thought}◁/think▷` },
  { name: "Command R's", write: (thought) => `<|START_THINKING|>${thought}<|END_THINKING|>` },
  {
    name: "gpt-oss's",
    write: (thought) => `<|channel|>analysis<|message|>${thought}<|end|><|start|>assistant<|channel|>final<|message|>`,
  },
  { name: "Gemma 4's", write: (thought) => `<|channel>thought\n${thought}\n<channel|>` },
  { name: "the closing tag only", write: (thought) => `${thought}\n</think>\n\n` },
  { name: "Apriel's end only", write: (thought) => `${thought}\n[BEGIN FINAL RESPONSE]\n` },
];
