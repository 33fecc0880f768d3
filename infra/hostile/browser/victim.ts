import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type BrowserContext, chromium, type Request, type Response } from 'playwright-core';
import { Broken } from '../target.ts';

/** What a page of somebody else does to the server. */
export interface Attack {
  readonly from: 'another site' | 'another port' | 'a rebound name';
  readonly way: string;
  readonly path: string;
  readonly body: string;
}
export interface Visited {
  /** What the page could read of any answer. */
  readonly read: string;
  /** How the server answered; `linked` is the page of a link that filled a window. */
  readonly answers: readonly { readonly status: number; readonly url: string; readonly linked: boolean }[];
}
/** A browser whose person has been let in by a link, and opens pages of others. */
export interface Victim {
  visit(attack: Attack): Promise<Visited>;
  /** Asks from the server's own page; returns whether that was answered, and nothing of the token is left to scripts. */
  useOwnPage(): Promise<boolean>;
  close(): Promise<void>;
}

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const SETTLED_MS = 5_000;
const IN_PAGE = readFileSync(new URL('try-in-page.js', import.meta.url), 'utf8');
const IN_OWN_PAGE = `fetch('/graphql', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"query":"{ __typename }"}' })
  .then(({ status }) => ({ status, seen: document.cookie + ' ' + location.href }))`;

/** Returns where Chromium is installed, by Debian's packages or others. */
export function findChromium(): string | undefined {
  return PLACES.find((path) => existsSync(path));
}

/** A window that a link has just opened has no frame yet. */
function fillsWindow(request: Request): boolean {
  try {
    return request.frame().parentFrame() === null;
  } catch {
    return true;
  }
}

/**
 * Starts Chromium, opens the link, and serves a page of others. @throws Broken without a browser, or when the link lets nobody
 * in.
 */
export async function openVictim(api: string, link: string): Promise<Victim> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Broken('there is no Chromium here; install one: apt-get install chromium');
  const others = createServer((_req, res) =>
    res.setHeader('content-type', 'text/html').end('<!doctype html><title>others</title>'),
  );
  await new Promise<void>((resolve) => others.listen(0, '127.0.0.1', resolve));
  const { port } = others.address() as AddressInfo; // a TCP server that listens has one
  const browser = await chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--host-resolver-rules=MAP evil.test 127.0.0.1, MAP rebound.test 127.0.0.1',
      '--disable-features=LocalNetworkAccessChecks', // the server is tried, not the defence that newer browsers have of their own
    ],
  });
  const context = await browser.newContext();
  const own = await context.newPage();
  await own.goto(link);
  await own.waitForURL(`${api}/graphql`);
  const origins = {
    'another site': `http://evil.test:${port}`,
    'another port': `http://127.0.0.1:${port}`,
    'a rebound name': `http://rebound.test:${new URL(api).port}`,
  } as const;
  // The name led to its own server when the page came; now it leads here.
  await context.route(`${origins['a rebound name']}/others.html`, (route) =>
    route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>others</title>' }),
  );

  return {
    async visit(attack) {
      const origin = origins[attack.from];
      const base = attack.from === 'a rebound name' ? origin : api;
      const answers: { status: number; url: string; linked: boolean }[] = [];
      const note = (response: Response) => {
        const request = response.request();
        if (!response.url().startsWith(base) || response.url().endsWith('/others.html')) return;
        const linked = request.isNavigationRequest() && request.method() === 'GET' && fillsWindow(request);
        answers.push({ status: response.status(), url: response.url(), linked });
      };
      const before = new Set(context.pages());
      context.on('response', note);
      try {
        const page = await context.newPage();
        await page.goto(`${origin}/others.html`);
        const tried = { way: attack.way, url: `${base}${attack.path}`, body: attack.body };
        const read = await page.evaluate<string>(`${IN_PAGE}\ntryInPage(${JSON.stringify(tried)})`);
        for (const each of context.pages()) await each.waitForLoadState('load', { timeout: SETTLED_MS }).catch(() => undefined);
        return { read, answers };
      } finally {
        context.off('response', note);
        for (const page of context.pages()) if (!before.has(page)) await page.close();
      }
    },
    useOwnPage: () => useOwnPage(context, api),
    async close() {
      await browser.close();
      await new Promise((resolve) => others.close(resolve));
    },
  };
}

async function useOwnPage(context: BrowserContext, api: string): Promise<boolean> {
  const page = await context.newPage();
  try {
    await page.goto(`${api}/graphql`);
    const { status, seen } = await page.evaluate<{ status: number; seen: string }>(IN_OWN_PAGE);
    return status === 200 && !/espalier/.test(seen);
  } finally {
    await page.close();
  }
}
