/**
 * The tags and special tokens that chat templates teach models, and those of our own prompt, where a model's text has them.
 * Templates differ in spelling (`<tool_call>`, `<|tool_call_start|>`, `<｜tool▁call▁begin｜>`, `[TOOL_CALLS]`), so what counts is the
 * shape, and the letters of the name. A token of such a shape that nobody knows has no meaning, and is no text for people either.
 */

export type TagKind =
  /** Begins one or more calls. */
  | "call"
  /** Begins one call, and names its tool. */
  | "function"
  | "thought"
  | "thought-end"
  /** Begins the result of a call, which a model can't know. */
  | "result"
  /** Its next words say who speaks to whom, or whether it is thinking. */
  | "header"
  /** Somebody else speaks. */
  | "foreign"
  /** Stands around an answer. */
  | "wrapper"
  /** Begins or ends facts of our prompt that are nobody's answer. */
  | "facts"
  /** Has no meaning of its own, such as the end of a call or of a turn. */
  | "special";

export interface Tag {
  kind: TagKind;
  raw: string;
  /** Lower case, without a namespace. */
  name: string;
  isClosing: boolean;
}

/** All tags of our prompt but `runtime` and `tools`: what a model writes into them is its answer. */
const promptTags = [
  ...["identity", "procedures", "memory", "memory_note", "preferences", "skills", "skill_body", "skill_tools"],
  ...["earlier", "message", "attachment", "tool_result", "earlier_summary", "earlier_turn", "agent_answer"],
];
/** Templates list the tools in `<tools>`, and Qwen2.5-Coder writes its calls into it, too. */
const callNames = [
  "tools",
  ...["tool_call", "tool_calls", "toolcall", "toolcalls", "function_call", "function_calls", "functioncall"],
  ...["functioncalls", "start_function_call", "end_function_call", "tool_use", "longcat_tool_call"],
];
/** The last three are what small models make of the word for a call, with its name and arguments as attributes. */
const functionNames = ["function", "invoke", "tool", "use_tool", "call_tool"];
const thoughtNames = [
  "think",
  "thinking",
  "thought",
  "thoughts",
  "reasoning",
  "reflection",
  "scratchpad",
  "antthinking",
];
const resultNames = [
  ...["tool_response", "tool_responses", "tool_result", "tool_results", "tool_output", "tool_outputs"],
  ...["function_response", "function_result", "function_results"],
];
const wrapperNames = ["answer", "final_answer", "response", ...promptTags];
const specialNames = ["eos", "bos", "pad", "unk", "end_of_turn", "start_of_turn", "s"];
const tagNames = [
  ...new Set([
    ...[...callNames, ...functionNames, ...thoughtNames, ...resultNames, ...wrapperNames],
    ...["runtime", ...specialNames],
  ]),
];
const bracketed = [
  ...["TOOL_CALLS", "TOOL_CALL", "TOOL_REQUEST", "END_TOOL_REQUEST", "ARGS", "CALL_ID", "TOOL_CONTENT", "TOOL_RESULTS"],
  ...["/TOOL_CALLS", "/TOOL_CALL", "/TOOL_RESULTS", "AVAILABLE_TOOLS", "/AVAILABLE_TOOLS", "INST", "/INST"],
  ...["THINK", "/THINK", "SYSTEM_PROMPT", "/SYSTEM_PROMPT", "BEGIN FINAL RESPONSE", "END FINAL RESPONSE"],
].map((name) => `[${name}]`);
const namespaces = ["seed", "mm", "minimax", "atem", "antml", "ns"];
const minimaxMark = "]<]minimax[>[";
const triangles = ["◁think▷", "◁/think▷"];
const literal = [...bracketed, minimaxMark, ...triangles];

/** A `/`, a namespace or DeepSeek's mark, the name, attributes. */
const xmlTag = /<(\/?)(?:[a-z]{1,12}:|｜DSML｜)?([a-z_]{1,24})((?:=[^<>\n]{0,200}|\s[^<>\n]{0,800})?)\/?>/iy;
const pipeTag = /<(?:[|｜](\/?)([\w▁:./-]{1,60})[|｜]?|(\/?)([\w▁:./-]{1,60})[|｜])>/y;
const xmlStart =
  /^<\/?(?:[a-z]{1,12}:|｜DSML｜|｜[DSML]{0,4}$)?([a-z_]{0,24})((?:=[^<>\n]{0,200}|\s[^<>\n]{0,800})?)\/?$/i;
const pipeStart = /^<(?:[|｜](?:\/?[\w▁:./-]{0,60}[|｜]?)?|\/?[\w▁:./-]{0,60}[|｜])?$/;
/** All characters that can begin a tag. */
export const tagStarts = /[<[\]◁]/g;

/** The tag at this place. "unclear" if the text may go on as one. */
export function tagAt(text: string, index: number): Tag | "unclear" | undefined {
  const known = literal.find((each) => text.startsWith(each, index));
  if (known !== undefined) return tagOf(known, /^[[◁]\//.test(known), known);
  const rest = text.slice(index, index + 1_100);
  if (literal.some((each) => each.startsWith(rest))) return "unclear";
  if (!rest.startsWith("<")) return undefined;
  return pipeAt(text, index) ?? xmlAt(text, index) ?? (mayBecomeTag(rest) ? "unclear" : undefined);
}

function pipeAt(text: string, index: number): Tag | undefined {
  pipeTag.lastIndex = index;
  const [raw, slash = "", name = "", slash2 = "", name2 = ""] = pipeTag.exec(text) ?? [];
  return raw === undefined ? undefined : tagOf(name || name2, (slash || slash2) !== "", raw);
}

function xmlAt(text: string, index: number): Tag | undefined {
  xmlTag.lastIndex = index;
  const [raw, slash, name = "", attributes = ""] = xmlTag.exec(text) ?? [];
  const lower = name.toLowerCase();
  if (raw === undefined || !isXmlTag(lower, attributes, slash === "/")) return undefined;
  const kind = xmlKind(lower, slash === "/");
  return { kind, raw, name: lower, isClosing: slash === "/" };
}

/** `<function>` alone is a word of many languages, and `<s>` is HTML. */
function isXmlTag(name: string, attributes: string, isClosing: boolean): boolean {
  if (!tagNames.includes(name)) return false;
  if (functionNames.includes(name)) return isClosing || /^=\S|^\s+name\s*=/.test(attributes);
  return name === "s" ? isClosing : !attributes.startsWith("=");
}

function xmlKind(name: string, isClosing: boolean): TagKind {
  if (callNames.includes(name)) return isClosing || name.startsWith("end") ? "special" : "call";
  if (functionNames.includes(name)) return isClosing ? "special" : "function";
  if (thoughtNames.includes(name)) return isClosing ? "thought-end" : "thought";
  if (resultNames.includes(name)) return "result";
  if (name === "runtime") return "facts";
  if (name === "start_of_turn") return "header";
  return specialNames.includes(name) ? "special" : "wrapper";
}

function mayBecomeTag(rest: string): boolean {
  if (pipeStart.test(rest)) return true;
  const [all, name = "", attributes = ""] = xmlStart.exec(rest) ?? [];
  if (all === undefined) return false;
  if (attributes !== "") return tagNames.includes(name.toLowerCase());
  const starts = /[:｜]/.test(all) ? tagNames : [...tagNames, ...namespaces, "channel", "turn"];
  return starts.some((known) => known.startsWith(name.toLowerCase()));
}

function tagOf(name: string, isSlashed: boolean, raw: string): Tag {
  const key = name.toLowerCase().replace(/[^a-z]/g, "");
  const isClosing = isSlashed || /^end|end$|suffix$/.test(key);
  return { kind: tokenKind(key, isClosing), raw, name: key, isClosing };
}

/** By the letters of a special token. */
function tokenKind(key: string, isClosing: boolean): TagKind {
  if (key === "beginfinalresponse") return "thought-end";
  if (/think|thought|reasoning/.test(key)) return isClosing ? "thought-end" : "thought";
  if (/^(?:start|end)?tool(?:response|result|output)s?(?:begin|start|end)?$/.test(key))
    return isClosing ? "special" : "result";
  if (isClosing) return "special";
  if (
    /^(?:tool|function)s?(?:calls?|request)(?:s?section)?(?:begin|start)?$|^pythontag$|^toolsprefix$|^startaction$/.test(
      key,
    )
  )
    return "call";
  if (/^(?:channel|imstart|start|startheaderid|startofturn(?:token)?|turn|begin)$/.test(key)) return "header";
  return /^(?:im)?(?:user|human|system|developer|observation|tool)(?:token)?$/.test(key) ? "foreign" : "special";
}

/** What follows a header's tag: who speaks, to whom, whether it thinks, and the end of the header. */
const headerWords =
  /\s*(assistant|model|bot|user|human|system|tool|developer|functions?(?:\.[\w.-]+)?|analysis|thought|thinking|commentary|final|all)?\b(?:\s*to=([\w.:-]+))?\s*(?:<\|channel\|?>\s*(\w+))?(?:\s*to=([\w.:-]+))?\s*(?:<\|constrain\|>\s*\w+|json\b|code\b)?\s*(?:<\|(?:message|end_header_id|im_middle)\|>|\n)?/iy;

const openHeader = /^(?:[ \w.=:-]|<\|(?:channel|constrain)\|?>|<(?:\|[a-z_]*\|?)?$)*$/;

/** True if what follows a header's tag is nothing but the beginning of a header. */
export function isOpenHeader(text: string, index: number): boolean {
  return text.length - index < 300 && openHeader.test(text.slice(index));
}

export interface Header {
  end: number;
  /** The tool that is called. */
  calls?: string;
  speaks: "agent" | "other";
  isThought: boolean;
}

export function headerAt(text: string, index: number): Header {
  headerWords.lastIndex = index;
  const [all = "", first = "", to = "", channel = "", to2 = ""] = headerWords.exec(text) ?? [];
  const recipient = to || to2;
  const isCall = recipient !== "" && !/^(?:user|self|assistant|all)$/i.test(recipient);
  const isOther = /^(?:user|human|system|tool|developer|functions?\b.*)$/i.test(first);
  return {
    end: index + all.length,
    ...(isCall ? { calls: recipient } : {}),
    speaks: isOther ? "other" : "agent",
    isThought: /^(?:analysis|thought|thinking)$/i.test(channel || first) || recipient === "self",
  };
}
