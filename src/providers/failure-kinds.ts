/** The kinds of provider failures: a permanent code, whether a retry may help, and what to do. */

import { endingOf } from "./model-lifecycle.ts";

export interface ProviderPlace {
  name: string;
  /** The model's name without the provider's name. */
  model: string;
  baseUrl: string;
  keySetting: string;
  urlSetting: string;
  modelSetting: string;
  /** What the service knows and nobody else may read. */
  secrets?: readonly string[];
}

/** The settings that hold the address and the model, if it is known which of several do. */
export type SettingNames = Partial<Pick<ProviderPlace, "urlSetting" | "modelSetting">>;

/** A conversation may have chosen another model than the settings. */
export function modelSettingOf(asked: string, own: { model: string } & SettingNames, usual: string): string {
  return asked === own.model ? (own.modelSetting ?? usual) : "/remora model";
}

/** The model's name as the setting takes it. */
function namedIn({ name, modelSetting }: ProviderPlace, model: string): string {
  return /^(?:models|memory)\./.test(modelSetting) ? model : `${name}/${model}`;
}

export interface Kind {
  code: string;
  isRetryable: boolean;
  say(place: ProviderPlace, said: string, resets: string): string;
  /** For people who can't change settings, if they can do something else. By default `say`, without the service's words. */
  sayInChat?: Kind["say"];
  /** What the service reported is only for owners. */
  isAboutMoney?: boolean;
}

const sayTooLong: Kind["say"] = ({ model }) =>
  `this is too long for ${model}; write less, or choose a model with more context`;

/** `said` is what is known of the cause, in brackets, and `resets` when the failure ends; both may be empty. */
export const failureKinds = {
  wrongKey: {
    code: "provider.wrong-key",
    isRetryable: false,
    say: (place) => `the key was refused; set a valid one in ${place.keySetting}`,
  },
  /** No header can hold it. */
  impossibleKey: {
    code: "provider.wrong-key",
    isRetryable: false,
    say: (place) => `the key has a character that no key has; copy it again: ${place.keySetting}`,
  },
  closedAccount: {
    code: "provider.wrong-key",
    isRetryable: false,
    say: (place, said) =>
      `the account of this key is closed${said}; set a key of another account in ${place.keySetting}`,
  },
  region: {
    code: "provider.region",
    isRetryable: false,
    say: (place, said) =>
      `${place.baseUrl} does not serve the country that this machine is in${said}; use another service, or one that passes requests on to it (${place.urlSetting})`,
  },
  forbidden: {
    code: "provider.forbidden",
    isRetryable: false,
    say: (place, said) =>
      `the key has no access to ${place.model}${said}; use another model (${place.modelSetting}) or another key (${place.keySetting})`,
  },
  noCredit: {
    code: "provider.no-credit",
    isRetryable: false,
    isAboutMoney: true,
    say: (place) => `the account has no credit left; add credit, or set another key in ${place.keySetting}`,
  },
  spendLimit: {
    code: "provider.spend-limit",
    isRetryable: false,
    isAboutMoney: true,
    say: (place, _said, resets) =>
      `the account has reached its spending limit${resets}; whoever manages the account can raise it, or set another key in ${place.keySetting}`,
  },
  unknownModel: {
    code: "provider.unknown-model",
    isRetryable: false,
    say: (place, said) =>
      `there is no model ${place.model} at ${place.baseUrl}${said}; check ${place.modelSetting} and ${place.urlSetting}`,
  },
  /** Without a word about the model, it is the address that is not there. */
  unknownPath: {
    code: "provider.not-an-api",
    isRetryable: false,
    say: (place, said) =>
      `there is nothing at ${place.baseUrl} for ${place.model}${said}; correct ${place.urlSetting}, or if it is right, check ${place.modelSetting}`,
  },
  endedModel: {
    code: "provider.model-ended",
    isRetryable: false,
    say: (place) => {
      const { ends, instead } = endingOf(`${place.name}/${place.model}`) ?? { ends: "an earlier day" };
      const other = instead === undefined ? "another model" : namedIn(place, instead);
      return `${place.model} has ended on ${ends}; set ${place.modelSetting} to ${other}`;
    },
  },
  tooLong: {
    code: "provider.too-long",
    isRetryable: false,
    say: (place, said) =>
      `the prompt is too long for ${place.model}${said}; lower context.tokens, or choose a model with more context (${place.modelSetting})`,
    sayInChat: sayTooLong,
  },
  /** The prompt would fit without the room that is kept for the answer. */
  limitOverContext: {
    code: "provider.too-long",
    isRetryable: false,
    say: (place, said) =>
      `the prompt and models.maxOutputTokens together are too long for ${place.model}${said}; lower models.maxOutputTokens or context.tokens`,
    sayInChat: sayTooLong,
  },
  noTools: {
    code: "provider.no-tools",
    isRetryable: false,
    say: (place, said) => `${place.model} can't use tools${said}; choose another model (${place.modelSetting})`,
  },
  /** With the status of refused access, and no word of access. */
  blocked: {
    code: "provider.bad-request",
    isRetryable: false,
    say: (place, said) =>
      `the service refused this request${said}; ask in other words, and if it refuses all of them, check ${place.keySetting} and ${place.urlSetting}`,
  },
  outputLimit: {
    code: "provider.bad-request",
    isRetryable: false,
    say: (place, said) =>
      `models.maxOutputTokens does not suit ${place.model}${said}; set it to what this model takes, or use another model (${place.modelSetting})`,
  },
  brokenHistory: {
    code: "provider.bad-request",
    isRetryable: false,
    say: (place, said) =>
      `${place.model} can't go on with this conversation${said}; start a new one with /remora new, or use another model (${place.modelSetting})`,
  },
  toolRefused: {
    code: "provider.bad-request",
    isRetryable: false,
    say: (place, said) =>
      `${place.model} does not take one of the tools${said}; turn off the skill that has it (skills.deny), or use another model (${place.modelSetting})`,
  },
  toolsOff: {
    code: "provider.tools-off",
    isRetryable: false,
    say: (place, said) =>
      `the server at ${place.baseUrl} was started without tools${said}; start vLLM with --enable-auto-tool-choice and --tool-call-parser, or llama.cpp with --jinja`,
  },
  badCall: {
    code: "provider.bad-call",
    isRetryable: true,
    say: (place, said) =>
      `${place.model} wrote a tool call that the service could not read${said}; try again, or use another model (${place.modelSetting})`,
  },
  badRequest: {
    code: "provider.bad-request",
    isRetryable: false,
    say: (place, said) => `the request was refused${said}; check ${place.modelSetting} and ${place.urlSetting}`,
    sayInChat: (place) =>
      `the service refused the request, and the log says why; check ${place.modelSetting} and ${place.urlSetting}`,
  },
  wrongApi: {
    code: "provider.wrong-api",
    isRetryable: false,
    say: (place, said) => `${place.model} can't be used by this API${said}; set models.openai.api to auto`,
  },
  rateLimited: {
    code: "provider.rate-limited",
    isRetryable: true,
    say: (place, said) => `too many requests for ${place.model}${said}; try again later`,
  },
  overloaded: {
    code: "provider.overloaded",
    isRetryable: true,
    say: (_place, said) => `the service is overloaded${said}; try again later`,
  },
  /** It passes within minutes, and the request was not begun. */
  loading: {
    code: "provider.loading",
    isRetryable: true,
    say: (place, said) =>
      `the server at ${place.baseUrl} is still loading ${place.model}${said}; try again when it is ready`,
  },
  serverFull: {
    code: "provider.full",
    isRetryable: true,
    say: (place, said) =>
      `the server at ${place.baseUrl} has more requests than it takes${said}; try again later, or let it take more`,
  },
  serverError: {
    code: "provider.server-error",
    isRetryable: true,
    say: (_place, said) => `the service failed${said}; try again later`,
  },
  noMemory: {
    code: "provider.no-memory",
    isRetryable: false,
    say: (place, said) =>
      `the machine at ${place.baseUrl} has too little memory for ${place.model}${said}; close other programs there, or choose a smaller model (${place.modelSetting})`,
  },
  offline: {
    code: "provider.offline",
    isRetryable: true,
    say: (place, said) => `this machine has no network connection to ${place.baseUrl}${said}; check its network`,
  },
  unreachable: {
    code: "provider.unreachable",
    isRetryable: true,
    say: (place, said) => `${place.baseUrl} can't be reached${said}; check the network and ${place.urlSetting}`,
  },
  outOfFiles: {
    code: "provider.out-of-files",
    isRetryable: true,
    say: (_place, said) =>
      `this machine has too many files open to connect${said}; try again, or raise the limit of open files (ulimit -n, LimitNOFILE)`,
  },
  cut: {
    code: "provider.cut",
    isRetryable: true,
    say: (_place, said) => `the answer broke off before it was complete${said}; try again`,
  },
  malformed: {
    code: "provider.malformed",
    isRetryable: true,
    say: (place, said) =>
      `the answer was not a valid stream${said}; try again, and if it happens again, check that ${place.urlSetting} is the API's address`,
  },
  refused: {
    code: "provider.refused",
    isRetryable: false,
    say: (place, said) =>
      `${place.model} declined to answer this${said}; ask in other words, or start over with /remora new`,
  },
  empty: {
    code: "provider.empty",
    isRetryable: true,
    say: (place) => `${place.model} gave an empty answer; try again, or rephrase the question`,
  },
  endless: {
    code: "provider.endless",
    isRetryable: false,
    say: (place, said) =>
      `the answer of ${place.model} did not end, so I stopped it${said}; rephrase the question, or use another model (${place.modelSetting})`,
  },
  repeating: {
    code: "provider.endless",
    isRetryable: false,
    say: (place) =>
      `${place.model} repeated itself without end, so I stopped it; rephrase the question, or use another model (${place.modelSetting})`,
  },
  notAnApi: {
    code: "provider.not-an-api",
    isRetryable: false,
    say: (place) => `${place.baseUrl} answered with a web page, so it is not the API; correct ${place.urlSetting}`,
  },
  badUrl: {
    code: "provider.bad-url",
    isRetryable: false,
    say: (place, said) => `${place.baseUrl} is not a valid address${said}; correct ${place.urlSetting}`,
  },
  moved: {
    code: "provider.bad-url",
    isRetryable: false,
    say: (place, said) =>
      `${place.baseUrl} sends requests on to another address${said}, which does not get your key and messages unless you name it; correct ${place.urlSetting}`,
  },
  badCertificate: {
    code: "provider.bad-certificate",
    isRetryable: false,
    say: (place, said) =>
      `the certificate of ${place.baseUrl} is not trusted${said}; correct ${place.urlSetting}, or add the authority to NODE_EXTRA_CA_CERTS`,
  },
  connectTimeout: {
    code: "provider.connect-timeout",
    isRetryable: true,
    say: (place, said) => `no connection to ${place.baseUrl}${said}; check the network and ${place.urlSetting}`,
  },
  firstTokenTimeout: {
    code: "provider.first-token-timeout",
    isRetryable: true,
    say: (place, said) =>
      `${place.model} did not start to answer${said}; try again, or raise models.timeouts.firstTokenMs`,
  },
  /** Of a server that may only be slow. */
  firstTokenTooLate: {
    code: "provider.first-token-timeout",
    isRetryable: true,
    say: (place, said) =>
      `${place.model} at ${place.baseUrl} did not start to answer${said}; if it is only slow, set models.timeouts.firstTokenMs to more than that, or lower context.tokens`,
  },
  idleTimeout: {
    code: "provider.idle-timeout",
    isRetryable: true,
    say: (place, said) =>
      `${place.model} stopped in the middle of its answer${said}; try again, or raise models.timeouts.idleMs`,
  },
  aborted: { code: "provider.aborted", isRetryable: false, say: () => "the request was stopped" },
} satisfies Record<string, Kind>;

export type FailureKind = keyof typeof failureKinds;
