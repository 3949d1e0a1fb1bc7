/**
 * The agent on which advisories about other programs are replayed: through the page, with a model that calls what it is told to.
 * A canary lies outside everything that a call may reach. Only effects count: what the host has, and what went over the wire.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type CallingModel, startCallingModel } from "../../doubles/calling-model.ts";
import { type ChatClient, createChatClient, type SeenMessage } from "../../doubles/chat-client.ts";
import { createHome, type RemoraHome, type RunningRemora, startRemora } from "../../doubles/remora-in-process.ts";
import { startWebSite, type WebSite } from "../../doubles/web-site.ts";

export interface AdvisoryWorld {
  home: RemoraHome;
  remora: RunningRemora;
  model: CallingModel;
  site: WebSite;
  ann: ChatClient;
  /** Of the conversation of #general. */
  folder: string;
  /** A folder of the host that no call may change. */
  outside: string;
  /** Lies in `outside`, and contains `secret`. */
  canary: string;
  secret: string;
  /** Resolves to the answer, which ends with the last result. */
  answerTo(request: string): Promise<SeenMessage>;
  call(tool: string, input: object): Promise<string>;
  /** Resolves to what the command printed, in the words of its result. */
  run(command: string): Promise<string>;
  /** Changes settings while the agent runs. It notices soon. */
  configure(changes: object): Promise<void>;
  close(): Promise<void>;
}

const callText = (tool: string, input: object) => `call ${tool} ${JSON.stringify(input)}`;

interface WorldOptions {
  /** Of skills. */
  settings?(site: WebSite, outside: string): object;
  more?: object;
  env?: Record<string, string>;
  otherAnswer?(sent: string): Promise<string | undefined>;
}

export async function openWorld({ settings, more, env, otherAnswer }: WorldOptions = {}): Promise<AdvisoryWorld> {
  const [home, model, site] = await Promise.all([createHome(), startCallingModel(otherAnswer), startWebSite()]);
  const outside = join(dirname(home.data), "outside");
  const folder = join(home.workspace, "files/channel:general");
  await Promise.all([mkdir(outside), mkdir(folder, { recursive: true })]);
  const [canary, secret] = [join(outside, "canary.txt"), "the-canary-sings"];
  await writeFile(canary, `${secret}\n`);
  const config = join(dirname(home.data), "remora.yaml");
  const web = { allow: [`127.0.0.1:${site.port}`], ports: [80, site.port] };
  const all = { skills: { settings: { web, ...settings?.(site, outside) } }, ...more };
  await writeFile(config, JSON.stringify(all));
  const models = { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url };
  const remora = await startRemora(home, { ...env, ...models, REMORA_CONFIG: config });
  const ann = await createChatClient(remora.url, remora.token);
  const answerTo = async (request: string) => await ann.answerTo(await ann.say(`@remora ${request}`));
  const call = async (tool: string, input: object) => (await answerTo(callText(tool, input))).text;
  return {
    ...{ home, remora, model, site, ann, folder, outside, canary, secret, answerTo, call },
    run: (command) => call("shell_exec", { command }),
    configure: (changes) => writeFile(config, JSON.stringify({ ...all, ...changes })),
    async close() {
      ann.close();
      await remora.stop();
      await Promise.all([model.close(), site.close(), home.remove()]);
    },
  };
}
