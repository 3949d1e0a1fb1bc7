/** The port of the page: asks for another one if it is taken, before the agent starts. */
import { RemoraError } from "../lib/errors.ts";
import { type Setup, saveVariables } from "./services.ts";

const maxPort = 65_535;

/** The port that the flag names. */
export async function takePort(setup: Setup): Promise<void> {
  const { port } = setup.flags;
  if (port === undefined) return;
  const problem = problemOf(port);
  if (problem !== undefined) throw new RemoraError({ code: "setup.flag", place: `--port ${port}`, message: problem });
  await saveVariables(setup, { REMORA_PORT: port });
}

/** Without a terminal, the start says that the port is taken. The real environment can't be changed here. */
export async function choosePort(setup: Setup): Promise<void> {
  const { ask, environment, services } = setup;
  if (!ask.isInteractive || environment.REMORA_PORT) return;
  for (;;) {
    const taken = await services.takenPort();
    if (taken === undefined) return;
    await enterPort(setup, taken);
  }
}

export async function enterPort(setup: Setup, taken: number): Promise<void> {
  const { ask, envFile } = setup;
  ask.warn(`Another program uses port ${taken}, perhaps another Remora.`);
  const initial = String(taken < maxPort ? taken + 1 : 0);
  const port = await ask.text({ message: "Which port instead?", flag: "--port", initial, problemOf });
  await saveVariables(setup, { REMORA_PORT: port });
  ask.done(`Port ${port} (REMORA_PORT in ${envFile.path})`);
}

function problemOf(answer: string): string | undefined {
  return /^\d{1,5}$/.test(answer) && Number(answer) <= maxPort ? undefined : `Enter a number up to ${maxPort}.`;
}
