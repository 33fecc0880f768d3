import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Browser, type BrowserContext, chromium } from 'playwright-core';
import { describeWithBrowser } from '../testing/browser-describe.ts';
import { LOCAL_TOKEN } from '../testing/local-token.ts';
import { findChromium } from '../testing/studio-browser.ts';
import { openTestApi, type TestApi } from './http-testing.ts';
import { linkTo } from './local-access.ts';

/** Runs in a page: sends a request in one of the ways that browsers have, and returns what the page can read of the answer. */
const TRY_IN_PAGE = `async (way, url) => {
  const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const read = (init) => fetch(url, { credentials: 'include', ...init }).then((answer) => answer.text(), () => '');
  const element = (name, set) => new Promise((resolve) => {
    const made = Object.assign(document.createElement(name), set);
    made.onload = made.onerror = () => resolve(made);
    setTimeout(resolve, 1500, made);
    document.body.append(made);
  });
  const documentOf = (frame) => { try { return frame?.document.body?.textContent ?? ''; } catch { return ''; } };
  switch (way) {
    case 'cors': return read({});
    case 'no-cors': return read({ mode: 'no-cors', method: 'POST', body: '{}' });
    case 'json': return read({ method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } });
    case 'image': return (await element('img', { src: url })).naturalWidth > 0 ? 'a picture' : '';
    case 'script': return (await element('script', { src: url }), '');
    case 'style': return (await element('link', { rel: 'stylesheet', href: url }), '');
    case 'frame': return documentOf((await element('iframe', { src: url })).contentWindow);
    case 'object': return documentOf((await element('object', { data: url })).contentWindow);
    case 'beacon': return (navigator.sendBeacon(url, '{}'), await wait(300), '');
    case 'form': {
      const form = Object.assign(document.createElement('form'), { action: url, method: 'post', target: 'inner' });
      document.body.append(Object.assign(document.createElement('iframe'), { name: 'inner' }), form);
      form.submit();
      await wait(500);
      return documentOf(window.frames[0]);
    }
    case 'events': return new Promise((resolve) => {
      const source = new EventSource(url, { withCredentials: true });
      source.onmessage = ({ data }) => resolve(String(data));
      source.onerror = () => { source.close(); resolve(''); };
    });
  }
}`;
const WAYS = ['cors', 'no-cors', 'json', 'image', 'script', 'style', 'frame', 'object', 'beacon', 'form', 'events'];

describeWithBrowser('a browser that a link let in', () => {
  let api: TestApi;
  let url: string;
  let browser: Browser;
  let context: BrowserContext;
  const others = createServer((_req, res) => res.setHeader('content-type', 'text/html').end('<!doctype html><title>x</title>'));
  beforeAll(async () => {
    api = await openTestApi();
    ({ url } = await api.serve({ token: async () => LOCAL_TOKEN }));
    await new Promise<void>((resolve) => others.listen(0, '127.0.0.1', resolve));
    browser = await chromium.launch({
      executablePath: findChromium() ?? 'chromium',
      args: [
        '--no-sandbox',
        '--host-resolver-rules=MAP evil.test 127.0.0.1, MAP rebound.test 127.0.0.1',
        '--disable-features=LocalNetworkAccessChecks', // the server is tried, not the defence that newer browsers have of their own
      ],
    });
    context = await browser.newContext();
    const own = await context.newPage();
    await own.goto(linkTo(url, '/v1/schemas', LOCAL_TOKEN));
    await own.waitForURL(`${url}/v1/schemas`);
  });
  afterAll(async () => {
    await browser?.close();
    await new Promise((resolve) => others.close(resolve));
    await api?.close();
  });

  test('its page of this server is answered', async () => {
    const page = await context.newPage();
    await page.goto(`${url}/`);
    expect(await page.evaluate<number>("fetch('/v1/schemas').then(({ status }) => status)")).toBe(200);
    expect(await page.evaluate<string>("document.cookie + ' ' + location.href")).not.toMatch(/espalier|token/);
  });

  test.each(['another site', 'another port', 'a rebound name'])('no request of a page of %s is answered', async (site) => {
    const { port } = others.address() as AddressInfo; // a TCP server that listens has one
    const rebound = `http://rebound.test:${new URL(url).port}`;
    const origin = { 'another site': `http://evil.test:${port}`, 'another port': `http://127.0.0.1:${port}` }[site] ?? rebound;
    const target = site === 'a rebound name' ? rebound : url;
    // the name led to its own server when the page came; now it leads here
    await context.route(`${rebound}/others.html`, (route) =>
      route.fulfill({ contentType: 'text/html', body: '<!doctype html>' }),
    );
    const refused: number[] = [];
    const served: string[] = [];
    context.on('response', (response) => {
      if (!response.url().startsWith(`${target}/v1/`)) return;
      if (response.status() < 400) served.push(`${response.status()} at ${response.url()}`);
      else refused.push(response.status());
    });
    for (const way of WAYS) {
      const page = await context.newPage();
      await page.goto(`${origin}/others.html`);
      const text = await page.evaluate<string>(
        `(${TRY_IN_PAGE})(${JSON.stringify(way)}, ${JSON.stringify(`${target}/v1/schemas`)})`,
      );
      // a rebound name is of the same origin: its page may read the refusal
      if (site !== 'a rebound name') expect([way, text]).toEqual([way, '']);
      await page.close();
    }
    context.removeAllListeners('response');
    expect(served).toEqual([]);
    expect([...new Set(refused)]).toEqual([site === 'a rebound name' ? 421 : 403]);
  });
});
