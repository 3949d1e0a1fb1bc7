/** Where the agent's folders are: the workspace with its memory and files, and more folders with skills. */
import { existsSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { RemoraError } from "../lib/errors.ts";
import { type Setup, variable } from "./services.ts";

const skillsPath = ["skills", "folders"];

export async function chooseFolders(setup: Setup, root: string): Promise<void> {
  const { ask, flags, services, envFile, config, environment } = setup;
  const absolute = (text: string) => resolve(root, text.trim().replace(/^~(?=\/|$)/, homedir()));
  const present = variable(setup, "REMORA_WORKSPACE") ?? "workspace";
  for (let asked = flags.workspace; ; asked = undefined) {
    asked ??= await ask.text({
      message: "Folder for Remora's memory, files and skills",
      flag: "--workspace",
      initial: present,
    });
    const problem = await services.problemOfFolder(absolute(asked));
    if (problem === undefined) {
      const isDefault = absolute(asked) === join(root, "workspace");
      if (environment.REMORA_WORKSPACE === undefined)
        await envFile.set({ REMORA_WORKSPACE: isDefault ? undefined : absolute(asked) });
      break;
    }
    if (!ask.isInteractive || environment.REMORA_WORKSPACE !== undefined)
      throw new RemoraError({ code: "setup.folder", place: "--workspace", message: problem });
    ask.warn(problem);
  }
  const problemOf = (text: string) =>
    text === "" || (existsSync(absolute(text)) && statSync(absolute(text)).isDirectory())
      ? undefined
      : `There is no folder ${absolute(text)}.`;
  const set = config.get(skillsPath);
  const folders = Array.isArray(set) ? set.map(String) : [];
  const shown = folders.length === 0 ? "" : ` Now: ${folders.join(", ")}.`;
  const added = flags.skillsFolder ?? [
    await ask.text({
      message: `Do you have a folder with more skills?${shown} (press Enter for no)`,
      flag: "--skills-folder",
      initial: "",
      problemOf,
    }),
  ];
  for (const folder of added) {
    const problem = problemOf(folder);
    if (problem !== undefined)
      throw new RemoraError({ code: "setup.folder", place: "--skills-folder", message: problem });
  }
  const all = [...new Set([...folders, ...added.filter((folder) => folder !== "").map(absolute)])];
  if (all.length > folders.length) await config.set([[skillsPath, all]]);
}
