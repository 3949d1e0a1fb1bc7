/** Modules of the page import a file by the path under which its server serves it; in tests, it comes from where it is. */
import { registerHooks } from "node:module";

const path = "/local/vendor/diff-lines.js";
const file = new URL("../../src/lib/diff-lines.js", import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    return specifier === path ? { url: file, format: "module", shortCircuit: true } : next(specifier, context);
  },
});
