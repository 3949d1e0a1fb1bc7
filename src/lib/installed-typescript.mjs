/**
 * Node does not strip types below node_modules, where npm installs Remora as a package. There, this hook strips them.
 * Every process and thread that loads TypeScript imports this file first.
 */
import { readFileSync } from "node:fs";
import * as nodeModule from "node:module";
import { fileURLToPath } from "node:url";

const ownFiles = new URL("../../", import.meta.url).href;

if (import.meta.url.includes("/node_modules/")) {
  const { emitWarning } = process;
  process.emitWarning = (warning, ...rest) => {
    if (!String(warning).includes("stripTypeScriptTypes")) emitWarning.call(process, warning, ...rest);
  };
  nodeModule.registerHooks({
    load(url, context, next) {
      if (!url.startsWith(ownFiles) || !/\.ts(?:\?|$)/.test(url)) return next(url, context);
      const source = nodeModule.stripTypeScriptTypes(readFileSync(fileURLToPath(url), "utf8"));
      return { format: "module", source, shortCircuit: true };
    },
  });
}
