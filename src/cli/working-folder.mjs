/**
 * The folder with `.env`, `config/`, `data/` and `workspace/`: the checkout, or the current folder if npm has installed
 * Remora as a package.
 */
import { dirname, sep } from "node:path";
import { fileURLToPath } from "node:url";

const packageFolder = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

export function isInstalledPackage() {
  return packageFolder.split(sep).includes("node_modules");
}

export function workingFolder() {
  return isInstalledPackage() ? process.cwd() : packageFolder;
}
