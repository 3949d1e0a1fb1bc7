/** Every rule of the model services' doubles says where it comes from. */
import { expect, test } from "vitest";
import { moneyAnswers } from "./money.ts";
import { refusalOf } from "./rule.ts";
import { rulesOfServices } from "./services.ts";

const rules = [
  ...Object.entries(rulesOfServices).flatMap(([service, own]) => own.map((rule) => ({ service, ...rule }))),
  ...moneyAnswers,
];

test.each(rules)("$service: the rule “$says” names a public page and the day it was read", ({ source, read }) => {
  expect(URL.canParse(source) && new URL(source).protocol).toBe("https:");
  expect(read).toMatch(/^20\d\d-[01]\d-[0-3]\d$/);
});

test.each(Object.entries(rulesOfServices))("%s answers at no path but its own", (_service, own) => {
  for (const path of ["/responses", "/prod/chat/completions/responses?api-version=1", "/v1/v1/messages"]) {
    const call = { path, headers: { authorization: "Bearer k" }, body: {}, answers: [], asked: [] };
    expect(refusalOf(own, call)?.status).toBe(404);
  }
});
