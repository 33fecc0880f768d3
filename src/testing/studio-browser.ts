import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { inCI } from './in-ci.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const WAIT_MS = 60_000; // a loaded machine

const PLACES = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Returns where Chromium is installed, by Debian's packages or others. */
export function findChromium(): string | undefined {
  return PLACES.find((path) => existsSync(path));
}

/** Whether a test may start a browser; in CI one has to be there. */
export const browserIsThere = inCI() || findChromium() !== undefined;

/** A page of the studio, and what went wrong in it so far: faults of scripts, requests to others, what its rules refused. */
export interface StudioPage {
  readonly page: Page;
  readonly wrong: readonly string[];
}

/** Builds the studio, and starts the browser that Debian's package `chromium` brings. @throws Error without one. */
export async function openStudioBrowser(): Promise<Browser> {
  const built = spawnSync(process.execPath, ['bin/studio.js'], { cwd: ROOT, encoding: 'utf8' });
  if (built.status !== 0) throw new Error(built.stderr);
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error('there is no Chromium here; install one: apt-get install chromium');
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}

/** Opens a page by the link that a server printed, or with an API key, and waits for the list of runs. */
export async function openStudioPage(
  browser: Browser,
  link: string,
  { key }: { readonly key?: string } = {},
): Promise<StudioPage> {
  const wrong: string[] = [];
  const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
  page.setDefaultTimeout(WAIT_MS);
  // frames of views have no storage
  if (key !== undefined)
    await page.addInitScript(`if (self === top) sessionStorage.setItem('espalier-key', ${JSON.stringify(key)})`);
  page.on('pageerror', ({ message }) => wrong.push(message));
  page.on('dialog', (dialog) => {
    wrong.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(new URL(link).origin) && !/^(data|blob):/.test(request.url()))
      wrong.push(`asked ${request.url()}`);
  });
  page.on('console', (said) => {
    if (/Content Security Policy/i.test(said.text())) wrong.push(said.text());
  });
  await page.goto(link);
  await page.getByRole('heading', { name: 'Runs' }).waitFor();
  return { page, wrong };
}

/** Returns what axe finds in a page that hinders people seriously. */
export async function hindrances(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE); // the rules of the page refuse a script element
  const found = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as {
    readonly violations: readonly {
      readonly id: string;
      readonly impact: string;
      readonly nodes: readonly { readonly html: string }[];
    }[];
  };
  return found.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`);
}
