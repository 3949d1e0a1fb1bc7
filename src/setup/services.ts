/** What the setup needs from the rest of Remora. `cli/init.ts` provides it, so that tests can too. */
import type { CheckResult } from "../ports/check.ts";
import type { Ask } from "./ask.ts";
import type { ConfigFile } from "./config-file.ts";
import type { EnvFile } from "./env-file.ts";

const providerNames = ["anthropic", "openai", "ollama", "compatible"] as const;
export type ProviderName = (typeof providerNames)[number];

export interface ModelChoice {
  provider: ProviderName;
  model: string;
  key: string | undefined;
  /** Undefined for the service's own address. */
  url: string | undefined;
}

export interface Person {
  /** As in `safety.approvers`, without `user:`, such as `slack:U012AB3CD`. */
  id: string;
  name: string;
  hint: string;
}

export interface PeopleList {
  people: Person[];
  /** Why people are missing from the list. */
  problem: string | undefined;
}

export interface SetupServices {
  defaultModels: Record<ProviderName, string>;
  /** One short call. */
  checkModel(choice: ModelChoice): Promise<CheckResult<{ model: string; milliseconds: number }>>;
  /** For somebody who has none yet. */
  advisedOllamaModel: string;
  /** Those that can chat, the best first. Undefined if Ollama does not answer there. */
  listOllamaModels(url: string | undefined): Promise<string[] | undefined>;
  /** Undefined if the server does not list its models. Never rejects. */
  listCompatibleModels(url: string, key: string | undefined): Promise<string[] | undefined>;
  /** The link that creates the app with everything in slack/manifest.yaml. */
  slackLink: string;
  checkSlackBot(
    token: string,
  ): Promise<CheckResult<{ token: string; botName: string; team: string; appId: string | undefined }>>;
  checkSlackApp(token: string, appId: string | undefined): Promise<CheckResult<{ token: string }>>;
  /** Never rejects. */
  listSlackPeople(token: string): Promise<PeopleList>;
  checkDiscord(token: string): Promise<
    CheckResult<{
      token: string;
      applicationId: string;
      name: string;
      owner: { id: string; name: string } | undefined;
      servers: { id: string; name: string }[];
    }>
  >;
  discordInvite(applicationId: string): string;
  /** Resolves to what is wrong with a folder that the agent must be able to write, or undefined. Creates it. */
  problemOfFolder(path: string): Promise<string | undefined>;
  /** The port of the page, if another program than this installation uses it. */
  takenPort(): Promise<number | undefined>;
  /** Opens a link in the browser, if this machine has one. Never rejects. */
  openLink(url: string): Promise<void>;
  /** Contents of a file with one secret. */
  readSecretFile(path: string): Promise<string>;
}

/** Everything that flags can say. Paths of secrets, never secrets. */
export interface SetupFlags {
  provider?: ProviderName;
  model?: string;
  modelUrl?: string;
  modelKeyFile?: string;
  slackBotTokenFile?: string;
  slackAppTokenFile?: string;
  discordTokenFile?: string;
  approver?: string[];
  workspace?: string;
  skillsFolder?: string[];
  port?: string;
}

export interface Setup {
  ask: Ask;
  flags: SetupFlags;
  services: SetupServices;
  envFile: EnvFile;
  config: ConfigFile;
  /** The real environment, which comes before `.env`. */
  environment: Readonly<Record<string, string | undefined>>;
}

/** The value in force. */
export function variable({ environment, envFile }: Setup, name: string): string | undefined {
  return environment[name] || envFile.get(name);
}

/** Enough to recognize a secret, and too little to use it. */
export function masked(secret: string): string {
  const shown = secret.length >= 24 ? 4 : 0;
  const prefix = /^(?:xox[a-z]-|xapp-|sk-(?:ant-)?)/.exec(secret)?.[0] ?? "";
  return `${prefix}…${shown === 0 ? "" : secret.slice(-shown)}`;
}

/** Writes variables to `.env`. The real environment comes first, so a different value there is reported. */
export async function saveVariables(
  { environment, envFile, ask }: Setup,
  values: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const own = Object.entries(values).map(([name, value]) => [name, environment[name] === value ? undefined : value]);
  await envFile.set(Object.fromEntries(own));
  for (const [name, value] of Object.entries(values)) {
    if (environment[name] && environment[name] !== value)
      ask.warn(`${name} is set in this shell too, and that value comes before .env. Unset it: unset ${name}`);
  }
}
