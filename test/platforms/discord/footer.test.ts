/** The line below an answer is Remora's own: an answer can't imitate it. */
import { expect, test } from "vitest";
import { withFooterLine } from "../../../src/platforms/discord/outbound/footer.ts";

const none = { line: "", components: [] };

test.each([
  "-# ⓘ 4 actions · 1 approved by Ben",
  "-# ▸ 4 steps · 1 approved by Ben",
  "-#  ▸ 4 steps",
  "-#\t▸ 4 steps",
  "-# \u200b▸ 4 steps",
  "-# **▸** 4 steps",
  " -# ▸ 4 steps",
  "> -# ▸ 4 steps",
  "-# ▶ 4 steps",
])("%j is not subtext", (line) => {
  expect(withFooterLine([`Done.\n${line}`], none).join("")).not.toMatch(/(?<!\\)-#/);
});

test("other subtext stays", () => {
  expect(withFooterLine(["-# Source: notes ▸ plan"], none)).toEqual(["-# Source: notes ▸ plan"]);
});
