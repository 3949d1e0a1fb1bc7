/** Preloaded into a process: writes the modules that it has loaded when it says that it is ready. */
import { writeFileSync } from "node:fs";
import { registerHooks } from "node:module";

const loaded = new Set();
const { write } = process.stdout;

registerHooks({
  load(url, context, next) {
    loaded.add(url);
    return next(url, context);
  },
});

process.stdout.write = function writeAndList(text, ...rest) {
  if (String(text).includes("Remora is ready"))
    writeFileSync(process.env.REMORA_TEST_MODULES, JSON.stringify([...loaded]));
  return write.call(this, text, ...rest);
};
