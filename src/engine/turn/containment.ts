/**
 * Judges what a call could do outside its draft. A contained call affects nothing outside, so it runs without approval
 * and may run again after a crash. All other calls need approval, whatever the skills' rules say, and grants never
 * apply to them.
 */
import { type Containment, reachesNetwork } from "../../ports/containment.ts";
import type { GateMatch } from "../../ports/gate.ts";
import type { Json, JsonObject } from "../../ports/message.ts";
import { isFromOutside, type Origin } from "../../ports/origin.ts";
import { actsOutside, networkOf, type ToolSpec } from "../../ports/tool.ts";

export interface ContainmentOptions {
  sandboxHolds: boolean;
  fits(folder: string): Promise<boolean>;
  /** True if `safety.shell` is `ask`: every command then needs approval. */
  asksForCommands: boolean;
  /** True if the settings let every command reach this host. `host` is spelled as in a call. */
  isFreeHost(host: string): boolean;
  problemWithHosts(hosts: readonly string[]): string | undefined;
  /** Describes the hosts, their ports and secrets for people, line by line. */
  describeHosts(hosts: readonly string[]): string[];
  changedPaths(conversationId: string): Promise<string[]>;
}

const maxNamedPaths = 10;
const takesEffect = "It takes effect at once, after reading text that somebody else may have written.";
const noSandbox = "This machine has no working sandbox, so this changes files at once and without limits.";
const tooLargeToCopy = "This folder is too large for the sandbox, so this changes files at once and without limits.";

export function createContainment(options: ContainmentOptions): Containment {
  const { sandboxHolds, isFreeHost } = options;

  return {
    async isUnconfined(spec, folder) {
      return spec?.folder === "write" && (!sandboxHolds || !(await options.fits(folder)));
    },
    isContained(spec, input) {
      if (spec === undefined || spec.folder !== "write" || spec.isOutward) return false;
      return networkOf(spec, input).length === 0 && input.background !== true;
    },
    problem(spec, input) {
      const hosts = spec === undefined ? [] : networkOf(spec, input);
      return hosts.length === 0 ? undefined : options.problemWithHosts(hosts);
    },
    reasons(spec, input, { isUnconfined, untrusted, givenAddresses = [], isAsked = false }) {
      if (spec === undefined) return [];
      const after = !isAsked && asksAfterOutside(spec, input, untrusted) ? [reason(takesEffect)] : [];
      if (spec.folder !== "write") return after;
      const isOwnWork = spec.shellParameters.length > 0 || !spec.isOutward;
      if (isOwnWork && isUnconfined) return [reason(sandboxHolds ? tooLargeToCopy : noSandbox)];
      if (offeredOutside(spec, untrusted, () => hasNewAddress(input, givenAddresses)))
        return [reason("It uses another program, after reading text that somebody else may have written.")];
      const hosts = networkOf(spec, input);
      if (hosts.length > 0 && isFromOutside(untrusted) && hosts.every(isFreeHost))
        return [reason("It reaches the network, after reading text that somebody else may have written.")];
      if (!hosts.every(isFreeHost)) return [reason(reachesNetwork)];
      if (options.asksForCommands && spec.shellParameters.length > 0)
        return [reason("Every command needs approval here.")];
      return after;
    },
    async facts(spec, input, conversationId) {
      const hosts = spec === undefined ? [] : networkOf(spec, input);
      const isLeaving = hosts.length > 0 || spec?.isOutward === true;
      if (!isLeaving) return [];
      const paths = await options.changedPaths(conversationId);
      return [...options.describeHosts(hosts).map((line) => `Reaches ${line}`), ...readableChanges(paths)];
    },
    undo(spec, input, isUnconfined) {
      if (spec === undefined) return "Can't be undone: what does it is not known.";
      if (spec.offeredBy !== undefined) return "Can't be undone: another program does it.";
      const sends = networkOf(spec, input).length > 0;
      if (spec.isReadOnly)
        return sends || spec.isOutward ? "What it sends can't be taken back." : "It changes nothing.";
      if (spec.folder === "write" && isUnconfined) return "Can't be undone: it changes files at once.";
      if (sends) return "What it sends can't be taken back.";
      if (spec.isOutward) return "Can't be undone: others may see it at once.";
      return spec.folder === "write"
        ? "Can be undone: it works on a draft of the folder."
        : "Can't be undone: it takes effect at once.";
    },
  };
}

/** Whoever wrote that text may have had the call made. It must not change or send anything unasked that no draft holds back. */
function asksAfterOutside(spec: ToolSpec, input: JsonObject, untrusted: readonly Origin[]): boolean {
  const isTainted = spec.isPersonal === true ? untrusted.length > 0 : isFromOutside(untrusted);
  if (!isTainted || !actsOutside(spec, input) || spec.offeredBy !== undefined) return false;
  if (spec.asksTaintedWith === undefined || spec.isInstalled === true) return true;
  return spec.asksTaintedWith.some((name) => input[name] !== undefined && input[name] !== false);
}

/**
 * A tool that only reads may receive its own program's output again, because such tools are often used in sequence. Others may
 * have written that output, so it must not make the program change anything, or reach an address.
 */
function offeredOutside(
  { offeredBy, isReadOnly }: ToolSpec,
  untrusted: readonly Origin[],
  namesAddress: () => boolean,
): boolean {
  if (offeredBy === undefined || !isFromOutside(untrusted)) return false;
  const isOwn = ({ kind, name }: Origin) => kind === "mcp" && name === offeredBy;
  return !isReadOnly || isFromOutside(untrusted.filter((origin) => !isOwn(origin))) || namesAddress();
}

const addressPattern = /[a-z][a-z0-9+.-]*:\/\/[^\s<>"'`|)\]}]+|\bwww\.[^\s<>"'`|)\]}]+/gi;
const addressKey = /^(?:ur[il]|href|host|hostname|domain|endpoint|webhook|site|website)s?$|ur[il]s?$/i;
const hostPattern = /^[^\s/@]+\.[^\s/@.]{2,}(?:[/:?#].*)?$/;

/** An address can carry something to whoever it belongs to. */
function hasNewAddress(input: JsonObject, given: readonly string[]): boolean {
  const isNew = (address: string) => {
    const whole = /^[a-z][a-z0-9+.-]*:\/\//i.test(address) ? address : `https://${address}`;
    return !given.includes(URL.parse(whole)?.href ?? whole);
  };
  const search = (value: Json | undefined, key: string): boolean => {
    if (Array.isArray(value)) return value.some((each) => search(each, key));
    if (typeof value === "object" && value !== null)
      return Object.entries(value).some(([inner, each]) => search(each, inner));
    if (typeof value !== "string") return false;
    const found = value.match(addressPattern) ?? (addressKey.test(key) && hostPattern.test(value) ? [value] : []);
    return found.some(isNew);
  };
  return search(input, "");
}

function readableChanges(paths: readonly string[]): string[] {
  if (paths.length === 0) return [];
  const named = paths.slice(0, maxNamedPaths).join(", ");
  const more = paths.length > maxNamedPaths ? ` and ${paths.length - maxNamedPaths} more` : "";
  return [`Can read changes that nobody has approved yet: ${named}${more}`];
}

/** `file` is empty, because no skill's rule matched. */
function reason(text: string): GateMatch {
  return { kind: "confirm", skill: "remora", pattern: "", reason: text, file: "", line: 0, form: "exact" };
}
