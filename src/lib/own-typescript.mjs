/**
 * How Remora's own TypeScript is found and read. Every process and thread that loads TypeScript imports this file first.
 *
 *   resolve   an import of a file by another is only a path: Node would look up each of 600 files and their package.
 *             Of zod's messages in 63 languages, only the English ones are used: the others would cost 20 ms per process
 *             Node keeps what it reads from the compile cache in memory until a flush. Flushed in between, the same memory
 *             serves for the next files: 4 MB less for good
 *   load      below node_modules, where npm installs Remora as a package, Node does not strip types
 */
import { readFileSync } from "node:fs";
import * as nodeModule from "node:module";
import { fileURLToPath } from "node:url";

const ownFiles = new URL("../../", import.meta.url).href;
const ownCode = new URL("../", import.meta.url).href;

const importsPerFlush = 100;
let imports = 0;

nodeModule.registerHooks({
  resolve(specifier, context, next) {
    imports += 1;
    if (imports % importsPerFlush === 0) nodeModule.flushCompileCache();
    const { parentURL } = context;
    if (specifier === "../locales/index.js" && parentURL?.includes("/node_modules/zod/"))
      return next("../locales/en.js", context);
    if (!specifier.startsWith(".") || !specifier.endsWith(".ts") || !parentURL?.startsWith(ownCode))
      return next(specifier, context);
    return { url: new URL(specifier, parentURL).href, format: "module-typescript", shortCircuit: true };
  },
});

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
