/** Every rule of the model services' doubles says where it comes from. */
import { expect, test } from "vitest";
import { moneyAnswers } from "./money.ts";
import { rulesOfServices } from "./services.ts";

const rules = [
  ...Object.entries(rulesOfServices).flatMap(([service, own]) => own.map((rule) => ({ service, ...rule }))),
  ...moneyAnswers,
];

test.each(rules)("$service: the rule “$says” names a public page and the day it was read", ({ source, read }) => {
  expect(URL.canParse(source) && new URL(source).protocol).toBe("https:");
  expect(read).toMatch(/^20\d\d-[01]\d-[0-3]\d$/);
});
