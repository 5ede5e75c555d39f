/// <reference lib="dom" />
/** The example "lists" in a real browser: two members in two regions, with a node killed and a region cut off. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from './browser.js';
import { Cluster, cleanUp, logged } from './harness.js';
import { freePorts } from './ports.js';
import { Child, ROOT } from './processes.js';
import { until } from './until.js';

jest.setTimeout(180_000);

interface ShownItem {
  readonly id: string;
  readonly text: string;
  readonly done: boolean;
  readonly removed: boolean;
  readonly quantity: number;
  readonly pending: boolean;
}
/** What a page shows after one render. */
interface Shown {
  readonly added: number;
  readonly snapshot: number;
  readonly items: readonly ShownItem[];
}

let folder: string;
let cluster: Cluster;
let browser: Browser;
let links: string[];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'isochron-lists-'));
  cluster = await Cluster.start();
  browser = await launchBrowser(folder);
  const [port] = await freePorts(1);
  const nodes = `${cluster.endpoint('virginia')},${cluster.endpoint('ireland')}`;
  const args = [`${ROOT}/examples/lists/dist/serve.js`, '--port', String(port), '--node', nodes];
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

/** Runs in the page: keeps what it shows after every render. */
function record(): void {
  const shown: Shown[] = [];
  const take = (): void => {
    const article = document.querySelector<HTMLElement>('article[data-list]');
    if (article === null) return;
    const items = [...article.querySelectorAll<HTMLElement>('[data-item]')].map((row) => ({
      id: row.dataset.item!,
      text: row.querySelector('.text')?.textContent ?? '',
      done: row.dataset.done === 'true',
      removed: row.dataset.removed === 'true',
      quantity: Number(row.dataset.quantity),
      pending: row.dataset.pending === 'true',
    }));
    shown.push({ added: Number(article.dataset.added), snapshot: Number(article.dataset.snapshot), items });
  };
  Object.assign(globalThis, { shown });
  new MutationObserver(take).observe(document, { subtree: true, childList: true, attributes: true });
}

const statesOf = (page: Page): Promise<Shown[]> => page.evaluate('globalThis.shown');
const lastOf = async (page: Page): Promise<Shown> => page.evaluate('globalThis.shown.at(-1)');

async function open(link: string): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 900, height: 640 } });
  page.on('pageerror', (error) => {
    throw error;
  });
  await page.addInitScript(record);
  await page.goto(link);
  await page.getByLabel('New list', { exact: true }).waitFor();
  return page;
}

/** Types a line into a field and sends it; the page shows it when the event is over. */
const send = (page: Page, label: string, text: string): Promise<boolean> =>
  page.evaluate(
    async ([name, line]) => {
      const field = document.querySelector<HTMLInputElement>(`input[aria-label="${name}"]`)!;
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')!.set!.call(field, line);
      field.dispatchEvent(new Event('input', { bubbles: true }));
      await Promise.resolve();
      field.form!.requestSubmit();
      await new Promise((resolve) => setTimeout(resolve));
      return document.body.textContent.includes(line!);
    },
    [label, text] as const,
  );

/** Clicks, and returns an attribute of the item when the event is over. */
const click = (page: Page, label: string, attribute: string): Promise<string | null> =>
  page.evaluate(
    async ([name, of]) => {
      const button = document.querySelector<HTMLElement>(`[aria-label="${name}"]`)!;
      const row = button.closest('[data-item]')!;
      button.click();
      await new Promise((resolve) => setTimeout(resolve));
      return row.getAttribute(of!);
    },
    [label, attribute] as const,
  );

/** Fails unless every state is one snapshot, and none takes back what one before has shown. */
function expectNoFlicker(states: readonly Shown[]): void {
  for (const [i, { added, snapshot, items }] of states.entries()) {
    // An item and its count are of one transaction.
    expect([i, items.length]).toEqual([i, added]);
    const before = states[i - 1];
    if (before === undefined) continue;
    expect(snapshot).toBeGreaterThanOrEqual(before.snapshot);
    const now = new Map(items.map((item) => [item.id, item]));
    for (const old of before.items) {
      const item = now.get(old.id);
      expect([i, old.text, item?.id]).toEqual([i, old.text, old.id]);
      // The test only checks, adds and removes.
      expect([i, item!.quantity >= old.quantity, item!.done >= old.done, item!.removed >= old.removed]).toEqual([
        i,
        true,
        true,
        true,
      ]);
    }
  }
}

const same = (a: Shown, b: Shown): boolean => {
  const text = ({ added, items }: Shown) => JSON.stringify([added, items]);
  return text(a) === text(b) && a.items.every(({ pending }) => !pending);
};

describe('the example "lists"', () => {
  it(
    'two members in two regions see one another’s edits, always one snapshot, while a node is killed and a region is cut off',
    logged(async () => {
      const [ann, ben] = [await open(links[0]!), await open(links[1]!)];
      await send(ann, 'New list', 'Party');
      await ann.getByRole('heading', { name: 'Party' }).waitFor();
      await send(ann, 'Invite', 'Ben');
      await ben.getByRole('button', { name: 'Party' }).click();
      await ben.getByRole('heading', { name: 'Party' }).waitFor();
      const both = [ann, ben] as const;
      const agree = async (items: number): Promise<void> => {
        await until(
          `both show ${items} items`,
          async () => {
            const [a, b] = [await lastOf(ann), await lastOf(ben)];
            return a.added === items && same(a, b);
          },
          { timeoutMs: 40_000 },
        );
      };

      // Both at the same time.
      const add = async (page: Page, text: string): Promise<void> => {
        expect([text, await send(page, 'Add an item', text)]).toEqual([text, true]);
      };
      await Promise.all(['Bread', 'Cheese', 'Grapes'].map((text, i) => add(both[i % 2]!, text)));
      await agree(3);
      await Promise.all(both.map((page) => click(page, 'Grapes: one more', 'data-quantity')));
      await agree(3);
      expect((await lastOf(ann)).items.find(({ text }) => text === 'Grapes')?.quantity).toBe(3);
      expect(await click(ben, 'Bread: done', 'data-done')).toBe('true');
      await agree(3);

      // Ben's node is killed: his page goes on at another one.
      await cluster.kill('ireland-1');
      await add(ben, 'Olives');
      await add(ann, 'Lemonade');
      expect(await click(ben, 'Cheese: one more', 'data-quantity')).toBe('2');
      await cluster.restart('ireland-1');
      await agree(5);

      // A region is cut off: stable time stands still, and both pages go on with their own writes.
      const oregon = cluster.process('oregon-1');
      oregon.signal('SIGSTOP');
      await add(ann, 'Candles');
      await add(ben, 'Napkins');
      expect(await click(ann, 'Cheese: done', 'data-done')).toBe('true');
      expect((await lastOf(ann)).items.some(({ pending }) => pending)).toBe(true);
      oregon.signal('SIGCONT');
      await agree(7);

      // One transaction: all done items or none.
      await ann.locator('[data-clear]').click();
      await until('both removed', async () => {
        const { items } = await lastOf(ben);
        return items.filter(({ removed }) => removed).length === 2;
      });
      await agree(7);
      for (const page of both) {
        const states = await statesOf(page);
        expect(states.length).toBeGreaterThan(10);
        expectNoFlicker(states);
        const removed = states.map(({ items }) => items.filter((item) => item.removed).length);
        expect(new Set(removed)).toEqual(new Set([0, 2]));
      }
    }),
  );
});
