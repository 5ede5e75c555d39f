/** @jest-environment jsdom */
/// <reference lib="dom" />

import { IsochronError } from '@isochron/core/errors';
import {
  act,
  Component,
  createElement as h,
  type ReactNode,
  StrictMode,
  Suspense,
  startTransition,
  useState,
} from 'react';
import { createRoot, hydrateRoot, type Root } from 'react-dom/client';
import { FakeLive } from '../testing/fake-live.js';
import { IsochronClient } from './api/client.js';
import { type CutResult, Watch, type Watches, watchOf } from './api/watch.js';
import type { KeysQuery, QueryResult, RangeQuery } from './api/watched.js';
import {
  IsochronProvider,
  type Mutation,
  useConnection,
  useIsochron,
  useLive,
  useLiveCut,
  useLiveSuspense,
  useMutation,
  usePending,
} from './react.js';

interface Todo {
  readonly title: string;
}
const scope = { keyspace: 'default', prefix: 'todos/' };

beforeAll(() => {
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
});

let fake: FakeLive;
let client: IsochronClient;
let status: { state: string; pendingCommits: number };
let statusListeners: Set<() => void>;
let root: Root;
let page: HTMLElement;
beforeEach(() => {
  fake = new FakeLive();
  fake.put({ 'default/todos/1': { title: 'milk' }, 'default/todos/2': { title: 'tea' } });
  status = { state: 'online', pendingCommits: 0 };
  statusListeners = new Set();
  client = Object.create(IsochronClient.prototype, {
    status: { get: () => status },
    on: {
      value: (_event: string, listener: () => void) => {
        statusListeners.add(listener);
        return () => statusListeners.delete(listener);
      },
    },
    live: { value: (watches: Watches) => new Watch<CutResult<Watches>>(fake, { kind: 'cut', watches }) },
  });
  page = document.createElement('div');
  root = createRoot(page);
});
afterEach(async () => {
  await act(() => root.unmount());
  jest.useRealTimers();
});

const queried = (query: KeysQuery | RangeQuery, of = scope) =>
  watchOf<Todo>(fake, of, query) as Watch<QueryResult<Todo>>;
const todos = (prefix = '') => queried({ prefix });
const titles = (result: QueryResult<Todo> | undefined): string =>
  result?.documents.map(({ value }) => value.title).join() ?? 'loading';
const inside = (children: ReactNode) => h(IsochronProvider, { client, children });

/** The code of live queries is loaded, and everything of this turn rendered. */
const settled = (): Promise<void> =>
  act(async () => {
    for (let turns = 0; turns < 10; turns++) await Promise.resolve();
    await new Promise((resolve) => setTimeout(resolve));
  });
async function render(children: ReactNode): Promise<void> {
  await act(() => root.render(inside(children)));
  await settled();
}
const put = (documents: Readonly<Record<string, unknown>>): Promise<void> => act(async () => fake.put(documents));

interface ShownProps {
  readonly prefix?: string;
  /** Called in every render with the result. */
  readonly rendered?: (result: QueryResult<Todo> | undefined) => void;
}
function List({ prefix = '', rendered }: ShownProps): string {
  const result = useLive(() => todos(prefix));
  rendered?.(result);
  return titles(result);
}
/** Renders the titles of a query, and records each render. */
function Queried({ watch, seen }: { readonly watch: () => Watch<QueryResult<Todo>>; readonly seen: string[] }): string {
  const shown = titles(useLive(watch));
  seen.push(shown);
  return shown;
}
function PrefixAndLimit({ limit, seen }: { readonly limit: number; readonly seen: string[] }): null {
  const cut = useLiveCut(() => ({ one: todos('1'), all: queried({ limit }) }));
  seen.push(`${titles(cut?.one)} ${titles(cut?.all)}`);
  return null;
}
const Nothing = (): string => titles(useLive<QueryResult<Todo>>(() => undefined));
function Cut({ rendered }: { readonly rendered: (shown: string) => void }): null {
  const cut = useLiveCut(() => ({ one: todos('1'), two: todos('2') }));
  rendered(`${titles(cut?.one)} ${titles(cut?.two)}`);
  return null;
}
const Suspended = (): string => titles(useLiveSuspense(() => todos()));
const Wrong = (): string =>
  titles(useLiveSuspense(() => watchOf<Todo>(fake, scope, { keys: [''] }) as Watch<QueryResult<Todo>>));
const waiting = (child: () => string = Suspended) => h(Suspense, { fallback: 'waiting' }, h(child));
const State = (): string => useConnection().state;
function Pending({ rendered }: { readonly rendered: () => void }): string {
  rendered();
  return String(usePending());
}
const Alone = (): string => String(useIsochron());
/** Renders its body again in a transition when it is clicked. */
function Again({ body }: { readonly body: () => ReactNode }): ReactNode {
  const [, again] = useState(0);
  const onClick = (): void => startTransition(() => again((n) => n + 1));
  return h('button', { type: 'button', onClick }, body());
}
const written: { mutation: Mutation<[string], string> | undefined } = { mutation: undefined };
function Write({ write }: { readonly write: (client: IsochronClient, title: string) => Promise<string> }): string {
  const mutation = useMutation(write);
  written.mutation = mutation;
  return `${mutation.isPending} ${String(mutation.error)}`;
}

class Boundary extends Component<{ readonly children?: ReactNode }> {
  override state: { readonly message?: string } = {};
  static getDerivedStateFromError = ({ message }: Error) => ({ message });
  override render(): ReactNode {
    return this.state.message ?? this.props.children;
  }
}

describe('useLive', () => {
  it('useLive renders nothing before the first result, then every result', async () => {
    fake.isHolding = true;
    await render(h(List));
    expect(page.textContent).toBe('loading');
    await act(async () => fake.release());
    expect(page.textContent).toBe('milk,tea');
    await put({ 'default/todos/3': { title: 'bread' } });
    expect(page.textContent).toBe('milk,tea,bread');
  });

  it('useLive follows its query, and reads nothing for undefined', async () => {
    await render(h(List, { prefix: '1' }));
    expect(page.textContent).toBe('milk');
    await render(h(List, { prefix: '2' }));
    expect(page.textContent).toBe('tea');
    await render(h(Nothing));
    expect(page.textContent).toBe('loading');
    expect(fake.begun).toBe(2);
  });

  it('components with equal queries have one reader, also when strict mode mounts them twice', async () => {
    await render(h(StrictMode, null, h(List), h(List)));
    expect(page.textContent).toBe('milk,teamilk,tea');
    expect(fake.begun).toBe(1);
  });

  it('a reader ends a while after its last component, and goes on for one that comes back before', async () => {
    jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick', 'setImmediate'] });
    const advance = (ms: number) => act(() => jest.advanceTimersByTimeAsync(ms));
    await act(() => root.render(inside(h(List))));
    await advance(10);
    expect(fake.observers.size).toBe(1);
    await act(() => root.render(inside(null)));
    await advance(1_000);
    await act(() => root.render(inside(h(List))));
    expect(page.textContent).toBe('milk,tea');
    await advance(5_000);
    expect([fake.observers.size, fake.begun]).toEqual([1, 1]);
    await act(() => root.render(inside(null)));
    await advance(2_000);
    expect(fake.observers.size).toBe(0);
    fake.isHolding = true;
    await act(() => root.render(inside(h(List))));
    await advance(10);
    expect([page.textContent, fake.begun]).toEqual(['loading', 2]);
  });

  it('a component that shows an unchanged document does not render again', async () => {
    const rendered = jest.fn();
    await render(h(List, { prefix: '1', rendered }));
    const before = rendered.mock.calls.length;
    await put({ 'default/todos/2': { title: 'coffee' } });
    expect(rendered).toHaveBeenCalledTimes(before);
  });

  it('two components never show two snapshots in one render, also in that of a transition', async () => {
    const seen: (number | undefined)[][] = [];
    const rendered = (at: number) => (result: QueryResult<Todo> | undefined) => {
      seen.at(-1)![at] = result?.snapshot;
    };
    const both = (): ReactNode => {
      seen.push([]);
      return [1, 2].map((n) => h(List, { key: n, prefix: String(n), rendered: rendered(n - 1) }));
    };
    await render(h(Again, { body: both }));
    for (const title of ['a', 'b'])
      await act(async () => {
        page.querySelector('button')!.click();
        fake.put({ 'default/todos/1': { title }, 'default/todos/2': { title } });
      });
    expect(page.textContent).toBe('bb');
    expect(seen.filter(([one, other]) => one !== other)).toEqual([]);
    expect(seen.length).toBeGreaterThan(2);
  });

  it('the error of a watch is thrown, for an error boundary; a closed client leaves what is shown', async () => {
    const printed = jest.spyOn(console, 'error').mockImplementation(() => {});
    await render(h(Boundary, null, h(List)));
    await act(() => fake.fail('CLIENT_CLOSED'));
    expect(page.textContent).toBe('milk,tea');
    await render(h(Boundary, null, h(List, { prefix: '1' })));
    await act(() => fake.fail('WATCH_TOO_LARGE'));
    expect(page.textContent).toBe('of the test');
    printed.mockRestore();
  });
});

describe('useLive after a change of its query', () => {
  const CHANGES: readonly (readonly [string, KeysQuery | RangeQuery, KeysQuery | RangeQuery])[] = [
    ['filter', { where: [{ path: '/title', op: '==', value: 'tea' }] }, {}],
    ['limit', { limit: 1 }, { limit: 2 }],
    ['order', { orderBy: [{ path: '/title' }] }, { orderBy: [{ path: '/title', direction: 'desc' }] }],
    ['direction', { reverse: true }, {}],
    ['end', { end: '2' }, {}],
    ['list of keys', { keys: ['1'] }, { keys: ['1', '2'] }],
  ];
  const show = (query: KeysQuery | RangeQuery, seen: string[]): Promise<void> =>
    render(h(Queried, { watch: () => queried(query), seen }));

  it.each(CHANGES)(
    'after a change of the %s a component shows the former result until the new one',
    async (_, a, b) => {
      const seen: string[] = [];
      await show(a, seen);
      const before = page.textContent;
      fake.isHolding = true;
      await show(b, seen);
      expect(page.textContent).toBe(before);
      await act(async () => fake.release());
      expect(page.textContent).not.toBe(before);
      expect(seen.slice(seen.indexOf(before ?? '')).filter((shown) => shown === 'loading')).toEqual([]);
    },
  );

  it('the former result stays live until the new one is there', async () => {
    await show({ limit: 1 }, []);
    fake.isHolding = true;
    await show({ limit: 2 }, []);
    await put({ 'default/todos/1': { title: 'cream' } });
    expect(page.textContent).toMatch(/^cream/);
  });

  it('a component never shows the documents of another collection, prefix or document as its own', async () => {
    const seen: string[] = [];
    await render(h(Queried, { watch: () => queried({}), seen }));
    fake.isHolding = true;
    for (const watch of [() => queried({ prefix: '1' }), () => queried({}, { ...scope, prefix: 'lists/' })]) {
      await render(h(Queried, { watch, seen }));
      expect(page.textContent).toBe('loading');
    }
  });

  it('a cut keeps its former results while all of its parts show the same documents', async () => {
    const seen: string[] = [];
    await render(h(PrefixAndLimit, { limit: 1, seen }));
    await render(h(PrefixAndLimit, { limit: 2, seen }));
    expect([...new Set(seen)]).toEqual(['loading loading', 'milk milk', 'milk milk,tea']);
  });

  it('components begin and end the reading of a watch, whatever its signal', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    await render(h(Queried, { watch: () => queried({ signal }), seen: [] }));
    controller.abort();
    await put({ 'default/todos/3': { title: 'bread' } });
    expect(page.textContent).toBe('milk,tea,bread');
  });
});

describe('a retry after an error', () => {
  it.each([
    ['useLive', () => h(List)],
    ['useLiveSuspense', () => waiting()],
  ])('a component that is mounted after an error of its watch reads anew, with %s', async (_, child) => {
    const printed = jest.spyOn(console, 'error').mockImplementation(() => {});
    fake.refusal = new IsochronError('WATCH_TOO_LARGE', 'of the test');
    await render(h(Boundary, { key: 'first' }, child()));
    expect(page.textContent).toBe('of the test');
    fake.refusal = undefined;
    await render(h(Boundary, { key: 'retry' }, child()));
    expect(page.textContent).toBe('milk,tea');
    printed.mockRestore();
  });
});

describe('useLiveCut', () => {
  it('useLiveCut gives several results of one snapshot in one render', async () => {
    const renders: string[] = [];
    const rendered = (shown: string) => renders.push(shown);
    await render(h(Cut, { rendered }));
    await put({ 'default/todos/1': { title: 'a' }, 'default/todos/2': { title: 'b' } });
    expect(renders).toEqual(['loading loading', 'milk tea', 'a b']);
    expect(fake.begun).toBe(1);
  });
});

describe('useLiveSuspense', () => {
  it('useLiveSuspense waits for the first result, and then follows the watch', async () => {
    fake.isHolding = true;
    await render(waiting());
    expect(page.textContent).toBe('waiting');
    await act(async () => fake.release());
    expect(page.textContent).toBe('milk,tea');
    await put({ 'default/todos/3': { title: 'bread' } });
    expect(page.textContent).toBe('milk,tea,bread');
    expect(fake.begun).toBe(1);
  });

  it('useLiveSuspense in strict mode reads once', async () => {
    await render(h(StrictMode, null, waiting(), waiting()));
    expect(page.textContent).toBe('milk,teamilk,tea');
    expect(fake.begun).toBe(1);
  });

  it('useLiveSuspense throws the error of its watch', async () => {
    const printed = jest.spyOn(console, 'error').mockImplementation(() => {});
    await render(h(Boundary, null, waiting(Wrong)));
    expect(page.textContent).toContain('at least one character');
    printed.mockRestore();
  });
});

describe('useMutation', () => {
  const mutation = () => written.mutation!;

  it('useMutation runs the latest function with the client, and shows its progress', async () => {
    let finish = (_title: string): void => {};
    const write = (given: IsochronClient, title: string) => {
      expect(given).toBe(client);
      return new Promise<string>((resolve) => {
        finish = () => resolve(title.toUpperCase());
      });
    };
    await render(h(Write, { write: async () => 'the first function' }));
    const { mutate, mutateAsync } = mutation();
    await render(h(Write, { write }));
    expect([mutation().mutate, mutation().mutateAsync]).toEqual([mutate, mutateAsync]);
    let result: Promise<string> | undefined;
    await act(async () => {
      result = mutateAsync('milk');
    });
    expect(page.textContent).toBe('true undefined');
    await act(async () => finish(''));
    expect(page.textContent).toBe('false undefined');
    expect(await result).toBe('MILK');
  });

  it('useMutation keeps the error of the latest run until the next one, or until it is reset', async () => {
    const write = async (_client: IsochronClient, title: string) => {
      if (title === '') throw new Error('no title');
      return title;
    };
    await render(h(Write, { write }));
    await act(async () => mutation().mutate(''));
    expect(page.textContent).toBe('false Error: no title');
    await act(async () => mutation().mutate('milk'));
    expect(page.textContent).toBe('false undefined');
    await act(async () => expect(mutation().mutateAsync('')).rejects.toThrow('no title'));
    expect(page.textContent).toBe('false Error: no title');
    await act(async () => mutation().reset());
    expect(page.textContent).toBe('false undefined');
  });
});

describe('the connection', () => {
  const change = (changes: Partial<typeof status>): Promise<void> =>
    act(async () => {
      status = { ...status, ...changes };
      for (const listener of statusListeners) listener();
    });

  it('useConnection gives the status, and usePending renders only for the number of commits under way', async () => {
    const rendered = jest.fn();
    await render([h(State, { key: 1 }), h(Pending, { key: 2, rendered })]);
    expect(page.textContent).toBe('online0');
    const before = rendered.mock.calls.length;
    await change({ state: 'offline' });
    expect([page.textContent, rendered.mock.calls.length]).toEqual(['offline0', before]);
    await change({ pendingCommits: 2 });
    expect(page.textContent).toBe('offline2');
    await render(null);
    expect(statusListeners.size).toBe(0);
  });

  it('a hook outside of a provider throws an error with the remedy', async () => {
    const printed = jest.spyOn(console, 'error').mockImplementation(() => {});
    await act(() => root.render(h(Boundary, null, h(Alone))));
    expect(page.textContent).toContain('IsochronProvider');
    printed.mockRestore();
  });
});

describe('a page that a server has rendered', () => {
  const hydrated = async (children: ReactNode, html: string): Promise<readonly unknown[]> => {
    const errors: unknown[] = [];
    const place = document.createElement('div');
    place.innerHTML = html;
    await act(() => {
      root.unmount();
      root = hydrateRoot(place, inside(children), { onRecoverableError: (error) => errors.push(error) });
    });
    await settled();
    page = place;
    return errors;
  };

  it('a component of a page that a server has rendered begins as the server rendered it, and then follows its watch', async () => {
    // A result is there already: the first render is that of the server all the same.
    await render(h(List));
    expect(await hydrated(h('p', null, h(List)), '<p>loading</p>')).toEqual([]);
    expect(page.textContent).toBe('milk,tea');
  });
});
