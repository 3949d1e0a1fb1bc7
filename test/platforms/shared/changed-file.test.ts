import fc from "fast-check";
import { expect, test } from "vitest";
import { aboutText, fitFile } from "../../../src/platforms/shared/changed-file.ts";
import { autorunFolderWarning, autorunWarning } from "../../../src/sandbox/draft/autorun-files.ts";
import { anyCharacter } from "../../doubles/any-character.ts";

test("of a line that is too long, the path loses its middle and the warning nothing", () => {
  const text = fc.string({ unit: anyCharacter, maxLength: 400 });
  const warning = fc.constantFrom(autorunWarning, autorunFolderWarning);
  const room = fc.tuple(fc.integer({ min: 50, max: 300 }), fc.integer({ min: 10, max: 60 }));
  fc.assert(
    fc.property(text, text, warning, room, (path, detail, warning, [maxPath, maxDetail]) => {
      const fitted = fitFile({ path, detail, action: "added", warning }, maxPath, maxDetail);
      expect(fitted.about.endsWith(warning)).toBe(true);
      expect(fitted.path.length + fitted.about.length).toBeLessThanOrEqual(Math.max(maxPath, 100) + maxDetail + 2);
      expect(fitted.isWhole).toBe(fitted.path === path && fitted.about.startsWith(detail));
      if (fitted.path === path) return;
      const [head = "", tail = ""] = fitted.path.split("…").filter((_, at, all) => at === 0 || at === all.length - 1);
      expect(path.startsWith(head) && path.endsWith(tail)).toBe(true);
      // Half of a pair of code units would be no text.
      expect(fitted.path.isWellFormed()).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test("the choice of files on a form begins with the warning, because its end may be cut", () => {
  expect(aboutText({ detail: "+1 −2", warning: autorunWarning }, true)).toBe(`${autorunWarning}, +1 −2`);
  expect(aboutText({ detail: "+1 −2" }, true)).toBe("+1 −2");
  // Slack shows 75 characters there.
  expect(autorunFolderWarning.length).toBeLessThanOrEqual(60);
});
