import { expect, test } from "vitest";
import { axeFindings } from "./axe.ts";
import { browserNote, launchBrowser, missingBrowser } from "./browser.ts";

test.skipIf(missingBrowser !== undefined)(
  `axe reports a button without a name, in both themes${browserNote}`,
  async () => {
    const browser = await launchBrowser();
    try {
      const tab = await browser.newPage();
      const head = '<!doctype html><html lang="en"><head><title>x</title></head>';
      await tab.setContent(`${head}<body><main><h1>Title</h1><button></button></main></body></html>`);
      const found = await axeFindings(tab);
      expect(found).toEqual([
        expect.stringMatching(/^light: critical button-name: .*: button \(/),
        expect.stringMatching(/^dark: critical button-name: .*: button \(/),
      ]);
      await tab.setContent(`${head}<body><main><h1>Title</h1><button>Go</button></main></body></html>`);
      expect(await axeFindings(tab)).toEqual([]);
    } finally {
      await browser.close();
    }
  },
);
