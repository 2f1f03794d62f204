// Looks at every view of a served crawl, and at a report, in headless Chromium; see tests/browser.
//
//   node look.js CHROMIUM BASE_URL PORT_OF_THE_SITES SCREENSHOTS [REPORT.html]
//
// A finding is an error or warning in the console, a request to another place, a page that scrolls sideways, a table higher than two
// screens, a rule of axe-core that isn't kept, a heading that is missing. Exit code 1 where there is one.
'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');
const { chromium } = require('playwright-core');

const [executablePath, base, sites, shots, report] = process.argv.slice(2);
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const encode = encodeURIComponent;
const a = `http://a.test:${sites}/`;

// Height of a screen in pixels.
const HEIGHT = 900;

// Path, and the status where it isn't 200.
const views = {
  overview: ['/'],
  tables: ['/tables'],
  pages: ['/table/pages'],
  filtered: ['/table/pages?where=' + encode('status >= 200') + '&sort=url:desc'],
  'bad-filter': ['/table/pages?where=' + encode('stat = 4'), 400],
  links: ['/table/links'],
  hosts: ['/table/hosts'],
  skipped: ['/table/skipped'],
  ledger: ['/table/ledger'],
  robots: ['/table/robots'],
  errors: ['/table/errors'],
  queue: ['/table/queue'],
  changes: ['/table/changes'],
  explain: ['/url'],
  url: ['/url?url=' + encode(a)],
  denied: ['/url?url=' + encode(a + 'private/x')],
  incoming: ['/url/links?url=' + encode(a + 'p1')],
  host: ['/host?host=a.test'],
  graph: ['/graph'],
  search: ['/search?q=' + encode('lighthouses')],
  nothing: ['/nothing', 404],
  control: ['/control'],
};

let findings = 0;
const find = (where, what) => {
  findings += 1;
  console.log(`${where}: ${what}`);
};

// Runs axe-core in a world of its own: the policy of the pages forbids scripts in theirs.
async function accessibility(browser, page, where) {
  const session = await browser.newCDPSession(page);
  const { frameTree } = await session.send('Page.getFrameTree');
  const frameId = frameTree.frame.id;
  const { executionContextId: contextId } = await session.send('Page.createIsolatedWorld', { frameId, worldName: 'axe' });
  await session.send('Runtime.evaluate', { expression: axe, contextId });
  const expression = `axe.run(document, {iframes: false}).then((result) => JSON.stringify(result.violations.map(
    (rule) => [rule.impact, rule.id, rule.nodes.length, rule.nodes[0].target.join(' '), rule.nodes[0].failureSummary].join(' | '))))`;
  const { result } = await session.send('Runtime.evaluate', { expression, contextId, awaitPromise: true, returnByValue: true });
  for (const rule of JSON.parse(result.value || '["axe-core did not run"]')) find(where, rule.replace(/\n\s*/g, ' '));
}

// One view at one size and in one colour scheme.
async function look(browser, name, url, status, scheme, width) {
  const where = `${name} ${scheme} ${width}`;
  const page = await browser.newPage();
  page.on('console', (message) => {
    const refused = status !== 200 && /status of 4/.test(message.text());
    if (['error', 'warning'].includes(message.type()) && !refused) find(where, message.text());
  });
  page.on('pageerror', (error) => find(where, String(error)));
  page.on('request', (request) => {
    const place = request.url();
    if (!place.startsWith('http://127.0.0.1:') && !place.startsWith('file:') && !place.startsWith('data:')) find(where, `asks for ${place}`);
  });
  await page.emulateMedia({ colorScheme: scheme });
  await page.setViewportSize({ width, height: HEIGHT });
  const answer = await page.goto(url, { waitUntil: 'load' });
  if (answer && answer.status() !== status && !url.startsWith('file:')) find(where, `status ${answer.status()}`);
  await page.waitForTimeout(name === 'overview' ? 1500 : 150);
  if (await page.locator('h1').count() !== 1) find(where, 'not one h1');
  if (/^run$/.test(await page.title())) find(where, 'a script of the crawl ran');
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (wide > 0) find(where, `scrolls sideways by ${wide} px`);
  const high = await page.evaluate(() => document.documentElement.scrollHeight);
  if (width === 375 && new URL(url).pathname.startsWith('/table/') && high > 2 * HEIGHT) find(where, `a table of ${high} px: it has to scroll by itself`);
  await page.screenshot({ path: path.join(shots, `${name}-${scheme}-${width}.png`), fullPage: true });
  await accessibility(browser, page, where);
  await page.close();
}

// From the overview through every entry of the main navigation, as a visitor does.
async function click(browser) {
  const page = await browser.newPage();
  page.on('pageerror', (error) => find('clicking', String(error)));
  await page.goto(base, { waitUntil: 'load' });
  const before = await page.locator('main').innerText();
  const names = await page.locator('nav[aria-label=Main] a').allInnerTexts();
  if (names.length < 5) find('clicking', `only ${names.length} entries in the navigation`);
  for (const name of names) {
    await page.locator('nav[aria-label=Main] a', { hasText: name }).first().click();
    await page.waitForLoadState('load');
    if (await page.locator('nav[aria-label=Main] [aria-current=page]').innerText() !== name) find('clicking', `${name} isn't marked`);
  }
  await page.goto(base, { waitUntil: 'load' });
  await page.waitForFunction((text) => document.querySelector('main').innerText !== text, before, { timeout: 20000 })
    .catch(() => find('clicking', 'the overview does not follow the crawl'));
  // By keyboard alone: the first stop skips the navigation.
  await page.keyboard.press('Tab');
  const first = await page.evaluate(() => document.activeElement.getAttribute('href'));
  if (first !== '#main') find('clicking', `the first stop of the keyboard is ${first}`);
  await page.close();
}

// Until somebody answers: 20 s at most.
async function ready() {
  for (let n = 0; n < 100; n += 1) {
    if (await fetch(`${base}/healthz`).then((answer) => answer.ok, () => false)) return;
    await new Promise((resolve) => { setTimeout(resolve, 200); });
  }
  throw new Error(`nobody answers at ${base}`);
}

(async () => {
  await ready();
  fs.mkdirSync(shots, { recursive: true });
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'browser-views-'));
  const browser = await chromium.launchPersistentContext(profile, {
    executablePath,
    headless: true,
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync'],
  });
  let looks = 0;
  try {
    await click(browser);
    for (const [name, [place, status = 200]] of Object.entries(views)) {
      for (const scheme of ['light', 'dark']) {
        for (const width of [375, 800, 1440]) {
          await look(browser, name, base + place, status, scheme, width);
          looks += 1;
        }
      }
    }
    for (const scheme of report ? ['light', 'dark'] : []) {
      for (const width of [375, 800, 1440]) {
        await look(browser, 'report', 'file://' + path.resolve(report), 200, scheme, width);
        looks += 1;
      }
    }
  } finally {
    await browser.close();
    fs.rmSync(profile, { recursive: true, force: true });
  }
  console.log(`${looks} looks, findings: ${findings}`);
  process.exit(findings === 0 ? 0 : 1);
})();
