/// <reference lib="dom" />
/** The example "lists" with sign-in: members of a list share it, and others are refused. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '@isochron/sdk';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from './browser.js';
import { Cluster, cleanUp, logged } from './harness.js';
import { freePorts } from './ports.js';
import { Child, isochron, ROOT } from './processes.js';
import { until } from './until.js';

jest.setTimeout(180_000);

const EXAMPLE = join(ROOT, 'examples/lists');
const RULES = join(EXAMPLE, 'rules.yaml');

let folder: string;
let cluster: Cluster;
let browser: Browser;
let links: string[];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'isochron-lists-'));
  const [page, port] = (await freePorts(2)) as [number, number];
  const issuer = `http://127.0.0.1:${port}`;
  const provider = new Child(process.execPath, [
    join(ROOT, 'test/dist/e2e/sign-in-provider.js'),
    ...[String(port), `http://127.0.0.1:${page}/`, 'Ann', 'Ben', 'Cid'],
  ]);
  await until('the provider is ready', () => provider.exit ?? provider.stdout.includes('is ready'), {
    explain: () => provider.stderr,
  });
  const auth = join(folder, 'auth.yaml');
  writeFileSync(auth, readFileSync(join(EXAMPLE, 'auth.yaml'), 'utf8').replaceAll('http://127.0.0.1:5190', issuer));
  cluster = await Cluster.start({
    args: ['--auth', auth, '--rules', RULES, '--cors-origin', `http://127.0.0.1:${page}`],
  });
  browser = await launchBrowser(folder);
  const nodes = `${cluster.endpoint('virginia')},${cluster.endpoint('ireland')}`;
  const args = [join(EXAMPLE, 'dist/serve.js'), '--port', String(page), '--node', nodes, '--issuer', issuer];
  const server = new Child(process.execPath, args);
  await until('the links are printed', () => server.exit ?? server.stdout.trim().split('\n').length === 2, {
    explain: () => server.stderr,
  });
  links = server.stdout
    .trim()
    .split('\n')
    .map((line) => /http\S+$/.exec(line)![0]);
});
afterAll(async () => {
  await browser?.close();
  await cleanUp();
  rmSync(folder, { recursive: true, force: true });
});

/** A page of its own browser profile, with a member signed in at the provider's page. */
async function signedIn(name: string, link: string): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  await page.goto(link);
  await page.locator('input[name="login"]').fill(name.toLowerCase());
  await page.locator('input[name="password"]').fill('any');
  await page.locator('button[type="submit"], input[type="submit"]').click();
  await page.getByLabel('New list', { exact: true }).waitFor();
  return page;
}

const send = async (page: Page, label: string, text: string): Promise<void> => {
  await page.getByLabel(label, { exact: true }).fill(text);
  await page.getByLabel(label, { exact: true }).press('Enter');
};
const shows = (page: Page, text: string): Promise<boolean> =>
  page.evaluate((wanted) => document.body.textContent.includes(wanted), text);

describe('shopping lists with sign-in', () => {
  it('the cases of the rules of the example pass, and cover each of them', async () => {
    expect(await isochron(['rules', 'test', RULES, '--config', cluster.configFile])).toMatchObject({ code: 0 });
  });

  it(
    'members who are signed in share a list, and other users see nothing of it',
    logged(async () => {
      const ann = await signedIn('Ann', links[0]!);
      const ben = await signedIn('Ben', links[1]!);
      await send(ann, 'New list', 'Week');
      await until('the list is open', () => shows(ann, 'Week'));
      await send(ann, 'Add an item', 'bread');
      await until('the item is stored', () => shows(ann, 'bread'));
      expect(await shows(ben, 'Week')).toBe(false);
      await send(ann, 'Invite', 'Ben');
      await until('the invited member sees the list and its items', async () => {
        return (await shows(ben, 'Week')) && (await shows(ben, 'bread'));
      });
      await send(ben, 'Add an item', 'milk');
      await until('both see what the other member adds', async () => (await shows(ann, 'milk')) && shows(ben, 'milk'));
      const cid = await signedIn('Cid', links[1]!);
      expect(await shows(cid, 'Week')).toBe(false);
      const list = await ann.evaluate(() => document.querySelector<HTMLElement>('article[data-list]')!.dataset.list!);
      const token = await cid.evaluate(() => {
        const [, user] = Object.entries(sessionStorage).find(([key]) => key.startsWith('oidc.user'))!;
        return (JSON.parse(user) as { id_token: string }).id_token;
      });
      const client = await connect({ endpoints: cluster.endpoints('oregon'), credentials: token });
      try {
        await expect(client.get(`shopping/${list}`)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
        const items = client.list({ prefix: `shopping/${list}/items/` })[Symbol.asyncIterator]();
        await expect(items.next()).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
        await expect(client.update(`shopping/${list}`, { members: ['Cid'] })).rejects.toMatchObject({
          code: 'PERMISSION_DENIED',
        });
      } finally {
        await client.close();
      }
      await expect(connect({ endpoints: cluster.endpoints('oregon') })).rejects.toMatchObject({
        code: 'UNAUTHENTICATED',
      });
    }),
  );
});
