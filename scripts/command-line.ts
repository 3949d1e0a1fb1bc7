/** The commands of `remora` as data, without running any. */
import { Command } from "commander";

/** Importing main.ts parses the arguments of this process, so that is replaced by taking the program. */
export async function commandLine(): Promise<Command> {
  const { parseAsync } = Command.prototype;
  try {
    return await new Promise((resolve, reject) => {
      Command.prototype.parseAsync = async function take(this: Command) {
        resolve(this);
        return this;
      };
      import("../src/main.ts").catch(reject);
    });
  } finally {
    Command.prototype.parseAsync = parseAsync;
  }
}
