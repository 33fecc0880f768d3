import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { chromium, type Page } from 'playwright-core';
import { findChromium } from '../../src/testing/studio-browser.ts';

const FOLDER = fileURLToPath(new URL('../../docs/studio/', import.meta.url));
const SIZE = { width: 1440, height: 900 };

/** What the guide shows: a name, and the way there from the list of runs of a demo. */
const SCREENS: readonly (readonly [string, (page: Page) => Promise<unknown>])[] = [
  ['runs', async () => undefined],
  ['run', (page) => page.getByRole('link', { name: 'train demo-1' }).click()],
  [
    'tree',
    async (page) => {
      await page.getByRole('link', { name: 'demo search' }).click();
      await page.locator('.heat-task').first().click();
      await page.getByRole('link', { name: 'As a tree' }).click();
      await page.getByText(/after simulation (\d+) of \1/).waitFor();
      await page.waitForTimeout(1_500);
      await page.getByRole('application').focus();
      for (let steps = 0; steps < 3; steps++) await page.keyboard.press('ArrowRight');
    },
  ],
  [
    'trajectory',
    async (page) => {
      await page.getByRole('link', { name: 'demo images' }).click();
      await page.locator('.mark').first().click();
      await page
        .getByRole('button', { name: /^Shown to the model \(image/ })
        .first()
        .click();
    },
  ],
  [
    'images',
    async (page) => {
      await page.getByRole('link', { name: 'demo images' }).click();
      await page.getByRole('link', { name: /^All images/ }).click();
      await page.locator('.sheet a').last().click();
      await page.getByRole('columnheader', { name: 'legibility' }).waitFor();
    },
  ],
  [
    'review',
    async (page) => {
      await page.getByRole('link', { name: 'Review' }).click();
      await page.getByRole('link', { name: 'Judged bad' }).click();
      await page.locator('.found li').first().waitFor();
    },
  ],
  [
    'training',
    async (page) => {
      await page.getByRole('link', { name: 'Training' }).click();
      await page.locator('.chart svg').first().waitFor();
    },
  ],
];

/** Makes the pictures of docs/studio from a server on which the demo ran: `tsx infra/docs/screens.ts LINK`, the printed link. */
async function screens(link: string): Promise<void> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error('there is no Chromium here; install one: apt-get install chromium');
  await mkdir(FOLDER, { recursive: true });
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  try {
    for (const [name, go] of SCREENS) {
      const page = await (await browser.newContext({ viewport: SIZE })).newPage();
      await page.goto(link);
      await page.getByRole('link', { name: 'train demo-1' }).waitFor();
      await go(page);
      while ((await page.locator('.loading').count()) > 0) await page.waitForTimeout(200);
      await page.waitForTimeout(1_500); // drawings that follow their data
      await page.screenshot({ path: `${FOLDER}${name}.png` });
      process.stdout.write(`docs/studio/${name}.png\n`);
    }
  } finally {
    await browser.close();
  }
}

const [link] = process.argv.slice(2);
if (link === undefined) throw new Error('name the link that `npm run demo` printed behind "Studio"');
await screens(link);
