import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { linkTo } from '../http/local-access.ts';
import type { Platform } from '../platform/open-platform.ts';
import type { Running } from '../runtime/lifecycle.ts';
import { SILENT } from '../runtime/logger.ts';
import { describeWithBrowser } from '../testing/browser-describe.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { LOCAL, LOCAL_TOKEN } from '../testing/local-token.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { hindrances, openStudioBrowser } from '../testing/studio-browser.ts';
import { until } from '../testing/until.ts';
import { runAll } from './run-all.ts';

const GUIDE = readFileSync(new URL('../../docs/guides/environment-views.md', import.meta.url), 'utf8');
/** The renderer of the guide. */
const SHOWN = /```js\n([\s\S]*?)```/.exec(GUIDE)?.[1] ?? '';
const all = (body: string) => `export async function render(given, h) { ${body} }`;
const said = (expression: string) =>
  all(
    `let said; try { said = await (${expression}); } catch (error) { said = 'refused: ' + error.name; } return h('p', null, 'said ' + said);`,
  );

/** Ways out of a frame. SINK is a server that counts; each is refused, says so, or fails; none sends a request. */
const WAYS_OUT: Readonly<Record<string, { readonly source: string; readonly shows: RegExp }>> = {
  fetch: { source: said("fetch('SINK/fetch')"), shows: /refused: TypeError/ },
  'fetch of the server itself': { source: said("fetch('HERE/v1/projects')"), shows: /refused: TypeError/ },
  'a request by XMLHttpRequest': {
    source: all("const x = new XMLHttpRequest(); x.open('GET', 'SINK/xhr', false); x.send(); return 'sent';"),
    shows: /failed: .*XMLHttpRequest/,
  },
  'a WebSocket': {
    source: said(
      "new Promise((r) => { const s = new WebSocket('ws://SINKHOST/ws'); s.onerror = () => r('closed'); s.onopen = () => r('open'); })",
    ),
    shows: /closed|refused/,
  },
  'an EventSource': {
    source: said(
      "new Promise((r) => { const s = new EventSource('SINK/events'); s.onerror = () => r('closed'); s.onopen = () => r('open'); })",
    ),
    shows: /closed|refused/,
  },
  'an imported module': {
    source: "import x from 'SINK/module.js'; export const render = () => x;",
    shows: /failed: it is no module/,
  },
  'a module imported later': { source: all("return (await import('SINK/later.js')).x;"), shows: /failed: Failed to fetch/ },
  'a beacon': { source: said("navigator.sendBeacon('SINK/beacon', 'x')"), shows: /refused: TypeError/ },
  'code made of text': { source: said("eval('1 + 1')"), shows: /refused: EvalError/ },
  'a worker of its own': {
    source: said(
      "new Promise((r) => { const w = new Worker(URL.createObjectURL(new Blob(['fetch(\"SINK/nested\")']))); w.onerror = () => r('refused'); })",
    ),
    shows: /refused/,
  },
  'the page around it': {
    source: said('[typeof parent, typeof top, typeof document, typeof opener].join()'),
    shows: /said undefined,undefined,undefined,undefined/,
  },
  'storage of the page': {
    source: said('[typeof localStorage, typeof sessionStorage, typeof cookieStore].join() + self.origin'),
    shows: /said undefined,undefined,undefinednull/,
  },
  'a database of the page': {
    source: said("new Promise((r, e) => { const q = indexedDB.open('x'); q.onerror = e; q.onsuccess = () => r('open'); })"),
    shows: /refused/,
  },
  'an image from elsewhere': {
    source: all("return h('img', { src: 'SINK/image.png' });"),
    shows: /failed: .*attribute "src" of img/,
  },
  'a style that loads': {
    source: all(
      "return [h('style', null, '@import url(SINK/style.css); p { background: url(SINK/image) } @font-face { font-family: f; src: url(SINK/font) }'), h('p', { style: 'font-family: f; background: url(SINK/other)' }, 'styled')];",
    ),
    shows: /styled/,
  },
  'a script element': { source: all("return h('script', null, 'fetch(\"SINK/script\")');"), shows: /failed: .*element "script"/ },
  'a handler of an event': {
    source: all("return h('p', { onclick: 'alert(1)' }, 'x');"),
    shows: /failed: .*attribute "onclick"/,
  },
  'a link that leaves the page': {
    source: all("return h('a', { href: 'SINK/top', target: '_top' }, 'x');"),
    shows: /failed: .*element "a"/,
  },
  'a link to a hint for the browser': {
    source: all("return h('link', { rel: 'preconnect', href: 'SINK' });"),
    shows: /failed: .*element "link"/,
  },
  'a refresh': {
    source: all("return h('meta', { 'http-equiv': 'refresh', content: '0; url=SINK/meta' });"),
    shows: /failed: .*element "meta"/,
  },
  'a form': { source: all("return h('form', { action: 'SINK/form' });"), shows: /failed: .*element "form"/ },
  'a frame within': { source: all("return h('iframe', { src: 'SINK/frame' });"), shows: /failed: .*element "iframe"/ },
  'a window that opens': { source: said("open('SINK/popup')"), shows: /refused: (TypeError|ReferenceError)/ },
  'leaving by its address': { source: said("(location.href = 'SINK/away')"), shows: /refused|said SINK|said http/ },
};
const FAILURES: Readonly<Record<string, { readonly source: string; readonly shows: RegExp }>> = {
  'that throws': { source: all("throw new Error('no tape');"), shows: /failed: no tape\. Its text is shown/ },
  'that never answers': { source: all('for (;;);'), shows: /failed: it did not answer within 3 seconds/ },
  'that does not end while it is loaded': { source: 'for (;;); export const render = 1;', shows: /failed: it did not answer/ },
  'that is no module': { source: 'export function render(', shows: /failed: it is no module/ },
  'that exports nothing': { source: 'export const other = "render";', shows: /failed: it exports no function named render/ },
  'that returns a number in an object': { source: all('return { value: 7 };'), shows: /failed: it returned what is no element/ },
  'that returns a function': { source: all('return () => 7;'), shows: /failed: .*could not be cloned/ },
  'that sends unasked': {
    source: `setInterval(() => postMessage({ number: 9, tree: 'x' }), 1); ${all("return 'x';")}`,
    shows: /failed: it sent what nobody asked/,
  },
  'that returns 30,000 elements': {
    source: all("return Array.from({ length: 30_000 }, () => h('p', null, ''));"),
    shows: /failed: it returned more than 20000 elements/,
  },
  'that returns 10 MB': {
    source: all("return 'x'.repeat(10_000_000);"),
    shows: /failed: it returned more than 1000000 characters/,
  },
  'that nests without end': {
    source: all("let e = 'x'; for (let i = 0; i < 500; i++) e = h('b', null, e); return e;"),
    shows: /failed: it returned elements within more than 100/,
  },
};

let platform: Platform & { readonly home: string };
let server: Running & { readonly url: string };
let sink: Server;
const reached: string[] = [];
let browser: Browser;
let page: Page;
let faults: string[];
const builder = new EventBuilder('renderers');
const rollouts = new Map<string, string>();

/** Rollouts of environments whose renderers the studio brings: actions and observations. */
const SHIPPED: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  textcraft: [
    [
      '',
      'Crafting commands:\ncraft 4 oak planks using 1 oak log\ncraft 4 stick using 2 oak planks\ncraft 1 oak sign using 1 stick, 6 oak planks\ncraft 1 white bed using 3 white wool, 3 oak planks\n\nGoal: craft oak sign.',
    ],
    ['get 2 oak log', 'Got 2 oak log'],
    ['craft 4 oak planks using 1 oak log', 'Crafted 4 minecraft:oak_planks'],
    ['craft 4 stick using 2 oak planks', 'Crafted 4 minecraft:stick'],
  ],
  'search-qa': [
    ['', 'Question: Where was the author of Dune born?'],
    [
      '<search>author of Dune</search>',
      '<information>{"result": "Doc 1: Dune\\nDune is a novel by Frank Herbert.\\nDoc 2: Sand\\nSand is small."}</information>',
    ],
    [
      '<search>Frank Herbert birthplace</search>',
      '<information>{"result": "Doc 1: Frank Herbert\\nFrank Herbert was born in Tacoma in 1920."}</information>',
    ],
    ['<answer>Tacoma</answer>', ''],
  ],
  alfworld: [
    [
      '',
      '-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly around you, you see a bed 1, a desk 1, a desk 2, a drawer 1, a drawer 2, and a garbagecan 1.\n\nYour task is to: put a clean mug in drawer.',
    ],
    ['go to desk 1', 'You arrive at desk 1. On the desk 1, you see a mug 1, and a pen 2.'],
    ['take mug 1 from desk 1', 'You pick up the mug 1 from the desk 1.'],
    ['go to drawer 1', 'You arrive at drawer 1. The drawer 1 is closed.'],
  ],
};

/** Records a run of one rollout. */
function recordTurns(environment: string, turns: readonly (readonly [string, string])[]): void {
  const policy = { policyId: 'p', version: 0 };
  const run = builder.run(environment, { name: environment, environments: [{ environment, fingerprint: 'f' }], policy });
  const task = { taskId: builder.id('task', environment), environment, serverFingerprint: 'f', observationHash: '0'.repeat(64) };
  const tree = builder.tree(run, environment, {
    observation: turns[0]?.[1] ?? '',
    instruction: '',
    plannedRollouts: 1,
    task: { ...task, alias: '0', goal: `a task of ${environment}`, depth: 1, split: null },
  });
  const rollout = builder.rollout(tree, 0, { policy });
  let last = tree.rootStepId;
  for (const [place, [action, observation]] of turns.slice(1).entries())
    last = builder.step(tree, rollout, last, place + 1, { action, response: action, observation });
  builder.reward(tree, last, 1);
  builder.finishRollout(tree, rollout, last, { outcome: 'terminated', success: true, steps: turns.length - 1 });
  rollouts.set(environment, rollout);
}

/** Records a run with one rollout of two steps. */
function record(name: string, renderer: string | undefined, environment = 'gauge'): void {
  const policy = { policyId: 'p', version: 0 };
  const own = renderer === undefined ? {} : { renderer };
  const run = builder.run(name, { name: name.slice(0, 200), environments: [{ environment, fingerprint: 'f', ...own }], policy });
  const task = { taskId: builder.id('task', name), environment, serverFingerprint: 'f', observationHash: '0'.repeat(64) };
  const tree = builder.tree(run, name, {
    observation: 'at the start',
    instruction: 'Read the gauge.',
    plannedRollouts: 1,
    task: { ...task, alias: name.slice(0, 100), goal: `goal <b>of</b> ${name}`, depth: 1, split: null },
  });
  const rollout = builder.rollout(tree, 0, { policy });
  const first = builder.step(tree, rollout, tree.rootStepId, 1, { action: 'look <b>', observation: 'it reads 42 <i>bar</i>' });
  const second = builder.step(tree, rollout, first, 2, { action: 'look', observation: 'seen twice', termination: 'terminated' });
  builder.finishRollout(tree, rollout, second, { outcome: 'terminated', success: true, steps: 2 });
  rollouts.set(name, rollout);
}

/**
 * Steps drawn by the renderers of their environments, and what these cannot do.
 *
 */
describeWithBrowser('the views of environments in the studio', () => {
  beforeAll(async () => {
    browser = await openStudioBrowser();
    sink = createServer((request, response) => {
      reached.push(request.url ?? '');
      response.setHeader('access-control-allow-origin', '*').end('x');
    });
    sink.on('connection', () => reached.push('a connection'));
    await new Promise<void>((listens) => sink.listen(0, '127.0.0.1', listens));
    platform = await openTestPlatform();
    server = await runAll(platform, SILENT);
    const host = `127.0.0.1:${(sink.address() as AddressInfo).port}`;
    const filled = (source: string) =>
      source.replaceAll('SINKHOST', host).replaceAll('SINK', `http://${host}`).replaceAll('HERE', server.url);
    record('shown', SHOWN);
    record('plain', undefined);
    for (const [environment, turns] of Object.entries(SHIPPED)) recordTurns(environment, turns);
    for (const [name, { source }] of Object.entries({ ...WAYS_OUT, ...FAILURES })) record(name, filled(source));
    const body = builder.events.map((event) => JSON.stringify(event)).join('\n');
    const headers = { ...LOCAL, 'content-type': 'application/x-ndjson' };
    const answer = await fetch(`${server.url}/v1/events`, { method: 'POST', headers, body });
    if (!answer.ok) throw new Error(await answer.text());
    const { db } = platform.database;
    await until(async () => (await db.selectFrom('rollouts').select('rolloutId').execute()).length >= rollouts.size);
    await until(async () => (await db.selectFrom('renderers').select('runId').execute()).length >= rollouts.size - 4);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
    await platform?.close();
    sink?.close();
  });

  beforeEach(async () => {
    page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
    page.setDefaultTimeout(60_000);
    faults = [];
    page.on('pageerror', ({ message }) => faults.push(message));
    page.on('dialog', (dialog) => {
      faults.push('a dialog');
      void dialog.dismiss();
    });
    await page.goto(linkTo(server.url, '/', LOCAL_TOKEN));
    await page.getByRole('heading', { name: 'Runs' }).waitFor(); // behind the page that keeps the token
  });
  afterEach(async () => {
    expect([faults, page.context().pages().length, reached]).toEqual([[], 1, []]);
    await page.context().close();
  });

  const open = (name: string) => page.goto(`${server.url}/view/trajectory/${rollouts.get(name)}`);
  const frame = () => page.frameLocator('iframe.own-view');

  test('a step is shown as the environment of its run draws it, markup of the record as text, and follows the chosen step', async () => {
    await open('shown');
    await frame().getByText('the gauge reads 0 at step 0').waitFor();
    await frame().getByRole('heading', { name: 'goal <b>of</b> shown' }).waitFor();
    await page.getByRole('button', { name: '1, link to step 1' }).click();
    await frame().getByText('the gauge reads 42 at step 1').waitFor();
    await frame().getByRole('listitem').getByText('look <b>', { exact: true }).waitFor();
    expect(await hindrances(page)).toEqual([]);
  });

  test('the renderer of the guide has at most 20 lines', () => {
    expect(SHOWN.trim().split('\n').length).toBeLessThanOrEqual(20);
    expect(SHOWN).toContain('export function render');
  });

  test.each([
    ['textcraft', /Inventory.*1 × oak log.*○ 1 × oak sign/],
    ['search-qa', /Frank Herbert was born in Tacoma in 1920.*Answer \(right\): Tacoma/],
    ['alfworld', /Holds: mug 1.*drawer 1 closed · the agent is here/],
  ] as const)('%s is drawn by the renderer that the studio brings, on wide and narrow screens', async (name, shows) => {
    await open(name);
    await page.getByRole('button', { name: /^3, link to step 3/ }).click();
    for (const [width, height] of [
      [1440, 900],
      [390, 844],
    ] as const) {
      await page.setViewportSize({ width, height });
      await found(shows);
      expect([width, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([width, width]);
    }
  });

  test('a page without a server draws with the renderer that the run brought, and reaches nothing', async () => {
    for (const [name, shows] of [
      ['shown', /the gauge reads 0 at step 0/],
      ['textcraft', /Nothing is carried/],
      ['fetch', /refused: TypeError/],
      ['that throws', /failed: no tape/],
    ] as const) {
      const answer = await fetch(`${server.url}/v1/pages?id=${rollouts.get(name)}`, { headers: LOCAL });
      expect(answer.status).toBe(200);
      const file = join(platform.home, 'page.html');
      await writeFile(file, await answer.text());
      await page.context().setOffline(true);
      await page.goto('about:blank');
      await page.goto(`file://${file}`);
      await found(shows);
      await page.context().setOffline(false);
    }
  });

  test('a run without a renderer is shown as text, without a frame', async () => {
    await open('plain');
    await page.getByText('seen twice').waitFor();
    expect(await page.locator('iframe').count()).toBe(0);
  });

  test.each(Object.keys(WAYS_OUT))('%s is no way out of the frame', async (name) => {
    await open(name);
    await found(WAYS_OUT[name]?.shows ?? /never/);
    expect(page.url()).toContain('/view/trajectory/');
  });

  test.each(Object.keys(FAILURES))('a renderer %s falls back to the text with the reason, and the page goes on', async (name) => {
    await open(name);
    await found(FAILURES[name]?.shows ?? /never/);
    await page.locator('aside .observation').getByText('at the start').waitFor();
    await page.getByRole('button', { name: 'Whole reply' }).first().click();
  });

  test.each([
    ['/frame.html?other', /view failed: its frame left its document/],
    ['/healthz', /view failed: (its frame left its document|it did not answer within 10 seconds)/], // refused in frames: no load
  ])('a frame that is led to %s by its page is given up at the next step at the latest', async (address, reason) => {
    await open('shown');
    await frame().getByText('the gauge reads 0 at step 0').waitFor();
    await page.locator('iframe.own-view').evaluate((element, to) => {
      (element as { src?: string }).src = to;
    }, address);
    await page.getByRole('button', { name: '1, link to step 1' }).click();
    await page.getByText(reason).waitFor();
  });

  /** Waits until the view or the notice of its failure says something. */
  async function found(what: RegExp): Promise<void> {
    const texts = async () =>
      (
        await Promise.all([
          page
            .locator('aside')
            .textContent({ timeout: 5_000 })
            .catch(() => ''),
          frame()
            .locator('main')
            .textContent({ timeout: 500 })
            .catch(() => ''),
        ])
      ).map(String);
    let last: readonly string[] = [];
    const seen = async () => {
      last = await texts();
      return what.test(last.join('\n'));
    };
    await until(seen, 90_000).catch(() => expect(last.join('\n')).toMatch(what));
  }
});
