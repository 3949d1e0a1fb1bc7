/**
 * Tells by the body and the status of an error response what has failed. Services share neither statuses nor codes, so the order
 * decides:
 *
 *   1. The rules below are read from the top, the first that fits counts. Each stands above those whose codes or words its services
 *      borrow: a filter borrows the codes of refused access, an empty account those of a rate limit, a wrong key those of a bad
 *      request, and a prompt that no rate limit would ever let through those of one that passes.
 *   2. The status decides what the body may say against it (`believed`). A 400 means nothing by itself. A 401 or a 413 means one thing.
 *      A 403, 404 or 429 has one usual meaning, and a few others that only the body tells.
 *      Words count only where the service itself says them (claimed-words.ts), because an error can repeat what a person wrote.
 *   3. What nobody knows stays what its status says, with the service's own words: a 4xx concerns this request and makes no model rest,
 *      a 5xx may pass. A 403 is about the key only if it speaks of access: firewalls refuse single messages with it.
 */
import { claimOf, firstClauseOf } from "./claimed-words.ts";
import type { ErrorBody } from "./error-body.ts";
import type { FailureKind } from "./failure-kinds.ts";
import { rolesInRow } from "./request-mapping.ts";
import { moneyKindOf } from "./spend-limits.ts";

interface Rule {
  kind: FailureKind;
  /** Of the body's type, code and reasons. */
  codes?: RegExp;
  /** Of its message; all must match. */
  words?: RegExp | RegExp[];
  /** A status at which the words mean something else. */
  notAt?: number;
  /** The model or its key would rest for long, so the words must be what the message begins with. */
  rests?: true;
}

const any = (...patterns: RegExp[]) => new RegExp(patterns.map(({ source }) => source).join("|"), "i");

const limitName =
  /max_(?:completion_|output_|new_)?tokens|max_?OutputTokens|maximum tokens you requested|output tokens|in the completion/i;

/** What is too long is the prompt. */
const promptTooLong = any(
  /\b(?:prompt|input|request|conversation)\b(?: tokens?| token count| length)?(?: \(?\d[\d,]*\)?)?(?: tokens?)? (?:is |are )?(?:too (?:long|large)\b|longer than)/,
  /\binput (?:length|tokens?|token count)(?: \(?\d[\d,]*\)?)? exceeds?/,
  /context (?:length|window)|exceed\w* .*context|maximum (?:prompt|model) length|range of input length/,
  /\b(?:message|request|prompt|input|payload)s? size \d+ exceeds?\b/,
  /must have less than \d+ tokens|too many tokens: |`inputs` tokens \+ `max_new_tokens`/,
);

const above: Rule[] = [
  {
    kind: "refused",
    codes:
      /content_filter|(?:content|bio|cyber|safety|usage|misalignment)_policy|policy_?violation|invalid_prompt|moderation|sensitive|data_?inspection|censor|flagged_input|\b1301\b/i,
    words: any(
      /SAFETY_CHECK|content violates|content exists risk|inappropriate content|considered high risk|敏感内容|不安全/,
      /(?:input|prompt|content|message|request)s? (?:was|were|is|has been|have been) (?:flagged|moderated)/,
    ),
  },
  { kind: "badCall", codes: /tool_use_failed/ },
  { kind: "toolsOff", rests: true, words: /requires? (?:--enable-auto-tool-choice|--jinja)/i },
];

const below: Rule[] = [
  {
    kind: "closedAccount",
    rests: true,
    codes: /account_deactivated/,
    words:
      /(?:organization|account|workspace|project) (?:\S+ )?(?:has been|was|is) (?:\w+ )?(?:disabled|deactivated|suspended|banned|terminated|restricted|archived)/i,
  },
  {
    kind: "wrongKey",
    rests: true,
    codes: /authentication|invalid_?api_?key|api_key_invalid|token_not_found/i,
    words: any(
      /(?:incorrect|invalid|wrong|missing|no) (?:x-)?(?:api|auth\w*)[ -]?key|pass a valid api key|security token\b.*(?:invalid|expired)/,
      /api[ -]?key (?:\w+ ){0,3}(?:not valid|invalid|incorrect|expired|revoked|disabled|leaked|not found|missing)/,
    ),
  },
  {
    kind: "region",
    codes: /unsupported_country/,
    // Anthropic says no more than "Request not allowed".
    words: any(
      /^request not allowed$/,
      /(?:country|countries|territor\w+|user location|your (?:region|location))\b.{0,50}\b(?:not (?:supported|available|allowed|served)|unsupported|blocked)/,
      /(?:not (?:supported|available|allowed)|unsupported)\b.{0,50}\b(?:country|countries|territor|your (?:region|location))/,
    ),
  },
  { kind: "forbidden", codes: /permission/ },
  {
    kind: "noTools",
    words: any(
      /does(?: not|n't) support (?:tools|tool (?:use|calls?|calling)|function calling)|support tool use/,
      /(?:tool (?:use|calling)|function calling)[`"']? (?:is|are) (?:not (?:supported|enabled|available)|unsupported)/,
    ),
  },
  { kind: "unknownModel", codes: /model_not_found|not_found/ },
  { kind: "unknownModel", rests: true, words: /^model\b.*\bnot found/i },
  { kind: "tooLong", words: /request too large\b.*\bper (?:min|day)|tokens must be reduced/i },
  { kind: "rateLimited", codes: /rate_limit/ },
  {
    kind: "loading",
    words: any(
      /^(?:the )?model\b.{0,120}\b(?:is|still|currently) (?:being )?load(?:ing|ed)/,
      /^(?:the server is )?(?:still |currently )?loading (?:the )?(?:\S+ )?model\b/,
    ),
  },
  { kind: "serverFull", words: /^server busy, please try again|maximum pending requests exceeded/i },
  { kind: "overloaded", codes: /overloaded/i },
  { kind: "overloaded", words: /overloaded/i },
  { kind: "limitOverContext", words: [promptTooLong, limitName], notAt: 429 },
  {
    kind: "outputLimit",
    words: [
      limitName,
      /too (?:large|small)|at most|maximum|minimum|range|<=|>=|less than|(?:exceed|must)|limit was reached|\d+ > \d+/i,
    ],
    notAt: 429,
  },
  { kind: "tooLong", codes: /context_length|string_above_max|request_too_large|exceed_context_size/ },
  { kind: "tooLong", words: promptTooLong, notAt: 429 },
  {
    kind: "brokenHistory",
    codes: /chat_template/,
    words: any(
      rolesInRow,
      /`?tool_(?:use|result)`? (?:ids?|blocks?)\b|tool_use_id|(?:un)?expected (?:last )?role/,
      /['"`]tool_calls['"`] must be followed|must be a response to a prece+d+ing message|number of function (?:calls|response)/,
      /no tool (?:output|call) found|function (?:call|response) turn comes|without its required (?:following|preceding) item/,
      /thought_signature|`(?:redacted_)?thinking` blocks?|expected `thinking`|reasoning_content\b.*\bpassed back/,
    ),
  },
  {
    kind: "toolRefused",
    codes: /invalid_function_parameters/,
    words: any(
      /invalid schema for (?:function|tool)|tools(?:\.|\[)\d+|function_declarations\[\d+\]|input_schema|tool names must be unique/,
      /['"`]tools['"`].{0,20}(?:too long|maximum)/,
    ),
  },
  { kind: "badRequest", codes: /invalid_request/ },
];

function find(
  rules: Rule[],
  { message, type, code, reasons = "" }: ErrorBody,
  status?: number,
): FailureKind | undefined {
  const named = `${type} ${code} ${reasons}`;
  const claim = claimOf(message);
  return rules.find(({ codes, words, notAt, rests }) => {
    if (codes?.test(named)) return true;
    if (words === undefined || (notAt !== undefined && notAt === status)) return false;
    return [words].flat().every((each) => each.test(rests ? firstClauseOf(claim) : claim));
  })?.kind;
}

/** Undefined if the body says nothing that is known. */
function kindOfBody(body: ErrorBody, status?: number): FailureKind | undefined {
  return find(above, body) ?? moneyKindOf(body, status) ?? find(below, body, status);
}

const accountKinds = ["noCredit", "spendLimit", "closedAccount"] as const;

/** What the body may say against the usual meaning of the status. */
const believed: Readonly<Record<number, readonly FailureKind[]>> = {
  401: ["closedAccount"],
  403: [...accountKinds, "refused", "wrongKey", "region", "noTools"],
  404: ["refused", "region", "noTools"],
  413: [],
  429: ["noCredit", "spendLimit", "tooLong", "overloaded"],
  // As llama.cpp's templates, Ollama's engine for Apple's chips and some gateways say it.
  500: ["tooLong", "limitOverContext", "refused", "loading", "brokenHistory"],
  502: ["loading"],
  503: ["loading", "serverFull"],
};

const aboutAccess =
  /access|permi|authori[sz]|forbid|denied|not allowed|\bkeys?\b|\bmodel|organi[sz]ation|project|\btier\b|subscri|\bplan\b|scope|verif|entitle|account|权/i;

/** OpenRouter calls the servers of a model its endpoints. */
const aboutModel = /model|deployment|\bendpoints\b/i;

/** `saysWhen`: the response has a time after which the request may come again. */
export function kindOfStatus(status: number, body: ErrorBody, saysWhen: boolean): FailureKind {
  const usual = usualKind(status, body, saysWhen);
  if (usual === undefined) return kindOfBody(body, status) ?? "badRequest";
  const said = kindOfBody(body, status);
  if (said === "badCall" || said === "toolsOff") return said;
  return said !== undefined && believed[status]?.includes(said) ? said : usual;
}

function usualKind(status: number, body: ErrorBody, saysWhen: boolean): FailureKind | undefined {
  const { message, type, code, reasons = "" } = body;
  if (status === 401) return "wrongKey";
  if (status === 402) {
    const money = moneyKindOf(body, status);
    // OpenRouter's budget of running requests is over in seconds, and says so.
    return saysWhen && money === undefined ? "rateLimited" : (money ?? "noCredit");
  }
  if (status === 403)
    return message === "" || aboutAccess.test(`${type} ${code} ${reasons} ${claimOf(message)}`)
      ? "forbidden"
      : "blocked";
  if (status === 404) return aboutModel.test(`${type} ${code} ${reasons} ${message}`) ? "unknownModel" : "unknownPath";
  if (status === 413) return "tooLong";
  if (status === 429) return "rateLimited";
  if (status === 503 || status === 529) return "overloaded";
  return status >= 500 || [408, 409, 425, 499].includes(status) ? "serverError" : undefined;
}

/** Of an error in a stream. Its code may be the status that the response can no longer have. */
export function kindOfReport(body: ErrorBody): FailureKind {
  const status = Number(body.code);
  const isStatus = status >= 400 && status < 600;
  return isStatus ? kindOfStatus(status, body, body.waitMs !== undefined) : (kindOfBody(body) ?? "serverError");
}
