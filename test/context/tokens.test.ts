import { readFileSync } from "node:fs";
import fc from "fast-check";
import { Tiktoken } from "js-tiktoken/lite";
import ranks from "js-tiktoken/ranks/o200k_base";
import { describe, expect, test } from "vitest";
import { estimateTokens, maxTokensPerCharacter } from "../../src/context/tokens.ts";
import { anyCharacter } from "../doubles/any-character.ts";

const tokenizer = new Tiktoken(ranks);

const texts: Record<string, string> = {
  "English prose":
    "When the ferry finally reached the island, most of the passengers were asleep. A boy in a yellow coat stood at the rail and counted the lights along the shore. His grandmother had told him that every light was a house, and that in every house somebody was waiting for a letter. He did not believe her, but he kept counting anyway, because it was cold and there was nothing else to do. In the morning the harbour smelled of diesel, bread and wet rope, and the first bus had already left.",
  "English in chat":
    "Could you look at the staging logs from last night? The nightly import stopped around 3:15 and nobody got an alert. I think it's the same timeout we saw in October, but I'm not sure. If it is, please open a ticket, assign it to Priya, and post the link here. Thanks a lot!",
  TypeScript: readFileSync(new URL("../../src/engine/conversation/conversations.ts", import.meta.url), "utf8"),
  Python: `import asyncio\nfrom dataclasses import dataclass\n\n\n@dataclass\nclass Order:\n    customer_id: int\n    total_cents: int\n    is_paid: bool = False\n\n\nasync def settle(orders: list[Order], gateway) -> int:\n    """Charge every unpaid order and return how many succeeded."""\n    settled = 0\n    for order in orders:\n        if order.is_paid:\n            continue\n        response = await gateway.charge(order.customer_id, order.total_cents)\n        if response.status_code == 200:\n            order.is_paid = True\n            settled += 1\n    return settled\n`,
  JSON: JSON.stringify(
    Array.from({ length: 8 }, (_, index) => ({
      id: index + 1,
      name: `Customer number ${index}`,
      email: `person${index}@example.com`,
      isActive: index % 2 === 0,
      tags: ["new", "priority", "europe"],
      address: { street: "Long Lane 42", city: "Bristol", postcode: "BS1 4QA" },
      balance: index * 137.5,
    })),
    null,
    2,
  ),
  "a log": Array.from(
    { length: 12 },
    (_, index) =>
      `2026-03-1${index % 10}T07:4${index % 6}:09.512Z WARN [http-${index}] GET /api/orders/${90_000 + index * 37} returned 503 after 1${index}42 ms (attempt 2 of 3)`,
  ).join("\n"),
  Chinese:
    "上周末我们全家去郊外爬山，天气非常好，空气也很清新。山上的枫叶已经变红了，吸引了很多游客前来拍照。中午我们在山顶的一家小饭馆吃饭，点了几个当地的特色菜，味道不错，价格也很便宜。下山的时候孩子们有点累，但是看到小溪里的鱼又高兴起来了。请把会议记录整理成一个表格，然后发给市场部的同事，谢谢。数据库连接失败，服务器返回了错误信息，你能看一下日志吗？",
  Arabic:
    "وصلت السفينة إلى الميناء في الصباح الباكر بعد رحلة طويلة استمرت ثلاثة أيام. كان الأطفال ينظرون إلى البحر ويعدون القوارب الصغيرة، بينما جلس الكبار يشربون القهوة ويتحدثون عن الطقس. من فضلك راجع ملف الإعدادات وأخبرني إذا كانت هناك أخطاء، ثم أرسل ملخصا قصيرا إلى فريق العمل قبل نهاية اليوم. لم يعمل الخادم منذ أمس ولا أعرف السبب.",
  "text with emoji":
    "Release day! 🎂🎈 The new page is live 🌍 and so far so good 🙌. Please report bugs 🐞 in the thread 👇, and thank you all for the late nights ☕🌙💻. Special thanks to the design team 🎨✨ — you were great 👏👏👏. Next stop: holidays 🏖️😎🍹",
  emoji: "🐶🐱🐭🐹🐰🦊🐻🐼🐨🐯🦁🐮🐷🐸🐵🍎🍐🍊🍋🍌🍉🍇🍓🍒🍑🥭🍍🥥🥝🍅🚕🚙🚌🚎🏁🎹🎺🎻🎲🎳",
};

describe("the token estimate", () => {
  test.each(Object.entries(texts))("is within 15 percent of a real tokenizer on %s", (_name, text) => {
    const real = tokenizer.encode(text).length;
    expect(Math.abs(estimateTokens(text) / real - 1)).toBeLessThanOrEqual(0.15);
  });

  test("is nothing for the empty text and something for any other", () => {
    expect(estimateTokens("")).toBe(0);
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, minLength: 1 }), (text) => {
        const tokens = estimateTokens(text);
        expect(Number.isInteger(tokens)).toBe(true);
        expect(tokens).toBeGreaterThanOrEqual(1);
        expect(tokens).toBeLessThanOrEqual(Math.ceil(text.length * maxTokensPerCharacter));
      }),
    );
  });
});
