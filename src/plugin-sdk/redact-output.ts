export { isSecretName } from "../lib/redact.ts";
export { createOutputRedactor } from "../lib/redact-output.ts";
