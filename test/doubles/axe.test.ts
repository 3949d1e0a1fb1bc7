import { expect, test } from "vitest";
import { axeFindings } from "./axe.ts";
import { browserNote, missingBrowser, openTabs } from "./browser.ts";

test.skipIf(missingBrowser !== undefined)(
  `axe reports a button without a name, and pale text in the theme that has it${browserNote}`,
  async () => {
    const tabs = await openTabs();
    try {
      const tab = await tabs.open();
      const head = '<!doctype html><html lang="en"><head><title>x</title></head>';
      const pale = "@media (prefers-color-scheme: dark) { p { color: #eee; background: white } }";
      await tab.setContent(
        `${head}<body><style>${pale}</style><main><h1>Title</h1><button></button><p>Text</p></main>`,
      );
      expect(await axeFindings(tab)).toEqual([
        expect.stringMatching(/^light: critical button-name: .*: button \(/),
        expect.stringMatching(/^dark: serious color-contrast: .*: p \(/),
      ]);
      await tab.setContent(`${head}<body><main><h1>Title</h1><button>Go</button></main></body></html>`);
      expect(await axeFindings(tab)).toEqual([]);
    } finally {
      await tabs.closeAll();
    }
  },
);
