/** What a name of Claude's says about the model. Dates and numbers are those of Anthropic's pages of November 2026. */

type Family = "opus" | "sonnet" | "haiku" | "fable" | "mythos";

interface Claude {
  family: Family;
  /** 5.5 is 505. */
  version: number;
}

function claudeOf(model: unknown): Claude | undefined {
  const found = /\bclaude-(opus|sonnet|haiku|fable|mythos)-(\d)(?:[-.](\d{1,2}))?(?!\d)/.exec(String(model));
  if (found === null) return undefined;
  const [, family, major, minor = "0"] = found;
  return { family: family as Family, version: Number(major) * 100 + Number(minor) };
}

/** True for models of at least this version. Families that are not named never are. */
export function isSince(model: unknown, since: Partial<Record<Family, number>>): boolean {
  const claude = claudeOf(model);
  return claude !== undefined && claude.version >= (since[claude.family] ?? Number.POSITIVE_INFINITY);
}

export const familiesOf5 = { fable: 500, mythos: 500 };

/** https://platform.claude.com/docs/en/about-claude/model-deprecations */
export function isRetired(model: unknown): boolean {
  return /^claude-(?:[123][.-]|3-|instant|(?:opus|sonnet)-4-(?:0|1)(?:-2025\d{4})?$|(?:opus|sonnet)-4-2025)/.test(
    String(model),
  );
}

/** https://platform.claude.com/docs/en/about-claude/models/overview */
export function maxOutputOf(model: unknown): number {
  return isSince(model, { opus: 406, sonnet: 406, haiku: 505, ...familiesOf5 }) ? 128_000 : 64_000;
}

/** https://platform.claude.com/docs/en/build-with-claude/vision: 100 where the context has 200,000 tokens. */
export function maxImagesOf(model: unknown): number {
  return isSince(model, { opus: 406, sonnet: 406, haiku: 505, ...familiesOf5 }) ? 600 : 100;
}
