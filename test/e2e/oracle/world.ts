/** The world of one run: a hostile configured folder, secrets around it, listeners, and the bot. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type ChatClient, createChatClient } from "../../doubles/chat-client.ts";
import { createHome, type RemoraProcess, startRemora } from "../../doubles/remora-process.ts";
import { type Canaries, createCanaries } from "./canaries.ts";
import { type Listeners, startListeners } from "./listeners.ts";
import { type OracleModel, startOracleModel } from "./oracle-model.ts";
import type { Places } from "./places.ts";
import { plantFolder } from "./planted-folder.ts";

export interface OracleWorld {
  places: Places;
  canaries: Canaries;
  listeners: Listeners;
  model: OracleModel;
  remora: RemoraProcess;
  person: ChatClient;
  /** The channels that work in the planted folder. */
  channel: string;
  /** Stops the bot and everything else, and removes all files. */
  close(): Promise<void>;
}

const project = resolve(import.meta.dirname, "../../..");
const channel = "random";
/** Seconds after which commands that never end are stopped. */
const commandSeconds = 4;
const homeFiles = ".ssh/id_rsa .ssh/authorized_keys .netrc .aws/credentials .bash_history .bashrc .gitconfig".split(
  " ",
);
const sharedFolders = ["/tmp", "/var/tmp", "/dev/shm"];

export async function createOracleWorld(
  settings: Record<string, unknown> = {},
  more: Record<string, string> = {},
): Promise<OracleWorld> {
  const run = realpathSync(mkdtempSync(join(tmpdir(), "remora-oracle-")));
  const [checkout, outside, home, temporary] = ["checkout", "outside", "home", "tmp"].map((name) =>
    join(run, name),
  ) as [...[string, string, string, string]];
  const mark = `remora-mark-${randomBytes(6).toString("hex")}`;
  const [config, socket] = [join(run, "remora.yaml"), join(run, "outside.sock")];
  const bot = await createHome();
  // The bot writes here; any other new file came from a command.
  const notes = join(bot.workspace, "brain/prefrontal/.debug");
  for (const folder of [checkout, join(outside, "empty"), home, temporary, notes])
    mkdirSync(folder, { recursive: true });
  const canaries = createCanaries();
  const shared = sharedFolders.map((folder) => join(folder, `${mark}.canary`));
  for (const path of [
    ...[join(outside, "secret.txt"), join(outside, "gitconfig"), ...homeFiles.map((name) => join(home, name))],
    ...[join(bot.workspace, "canary.txt"), join(bot.workspace, "files/channel:general/secret.txt")],
    ...[join(bot.data, "canary.txt"), ...shared],
  ])
    canaries.plant(path);
  const { secret } = canaries;
  writeFileSync(config, `# ${secret}\n${JSON.stringify(configured(checkout, settings))}\n`);
  const env = { ORACLE_SECRET: secret, HOME: home, TMPDIR: temporary };
  // By default it is in TMPDIR, so the bot would compile everything anew.
  const compiled = { NODE_COMPILE_CACHE: join(tmpdir(), "node-compile-cache") };
  const bait = spawn("sleep", ["100000"], { argv0: secret, env: { ...process.env, ...env }, stdio: "ignore" });
  const [model, listeners] = await Promise.all([
    startOracleModel(secret),
    startListeners({ abstract: mark, sockets: [socket, join(checkout, "socket")] }),
  ]);
  const access = { REMORA_CONFIG: config, ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url };
  const remora = await startRemora(bot, { ...access, ...env, ...compiled, ...more });
  const { tcp, udp, vsock, address } = listeners;
  const places: Places = {
    ...{ FOLDER: checkout, OUTSIDE: outside, HOME: home, MARK: mark },
    ...{ WORKSPACE: bot.workspace, DATA: bot.data, CONFIG: config, PROJECT: project },
    ...{ BOT: String(remora.pid), BAIT: String(bait.pid) },
    ...{ TCP: String(tcp), UDP: String(udp), VSOCK: String(vsock), ADDRESS: address, ABSTRACT: mark, SOCKET: socket },
  };
  plantFolder(checkout, places);
  listeners.watchPipe(join(checkout, "pipe"));
  const person = await createChatClient(remora.url, remora.token);
  return {
    ...{ places, canaries, listeners, model, remora, person, channel },
    async close() {
      person.close();
      await remora.kill();
      bait.kill("SIGKILL");
      await Promise.all([model.close(), listeners.close()]);
      for (const path of [run, ...shared]) rmSync(path, { recursive: true, force: true });
      await bot.remove();
    },
  };
}

function configured(checkout: string, settings: Record<string, unknown>): Record<string, unknown> {
  return {
    folders: { [`local:channel:${channel}`]: checkout },
    skills: { settings: { shell: { seconds: commandSeconds } } },
    ...settings,
  };
}
