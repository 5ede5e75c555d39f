import { IsochronError } from '@isochron/core/errors';
import { FakeLive } from '../testing/fake-live.js';
import { codeOf } from '../testing/harness.js';
import { Watch, watchOf } from './api/watch.js';
import type { KeysQuery, QueryResult, RangeQuery } from './api/watched.js';

const scope = { keyspace: 'default', prefix: 'todos/' };
interface Todo {
  readonly n: number;
}
const live = (): FakeLive => {
  const fake = new FakeLive();
  fake.put({ 'default/todos/a': { n: 1 }, 'default/todos/b': { n: 2 }, 'default/lists/a': { n: 3 } });
  return fake;
};
const watch = (fake: FakeLive, query: KeysQuery | RangeQuery = {}) =>
  watchOf(fake, scope, query) as Watch<QueryResult<Todo>>;

/** Everything that is due in this turn has happened, and the code of live queries is loaded. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const iteratorOf = <R>(results: AsyncIterable<R>) => results[Symbol.asyncIterator]() as AsyncIterableIterator<R>;
const resultOf = async <R>(next: Promise<IteratorResult<R>>): Promise<R> => {
  const { done, value } = await next;
  if (done === true) throw new Error('it has ended');
  return value;
};

/** The results that a subscription has got. */
async function subscribed<R>(source: Watch<R>) {
  const results: R[] = [];
  const errors: string[] = [];
  const end = source.subscribe(
    (result) => results.push(result),
    ({ code }) => errors.push(code),
  );
  await settled();
  return { results, errors, end };
}

describe('a watch of a collection', () => {
  const keysOf = async (watch: Watch<QueryResult<unknown>>): Promise<string[]> => {
    for await (const { documents } of watch) return documents.map(({ key }) => key);
    return [];
  };

  it('a watch of a collection has its own documents, and with deep those of its inner collections', async () => {
    const fake = live();
    const scope = { keyspace: 'default', prefix: 'boards/' };
    fake.put({ 'default/boards/1': 1, 'default/boards/1/cards/7': 2, 'default/boards/2': 3 });
    const watch = (query: RangeQuery = {}) => watchOf(fake, scope, query) as Watch<QueryResult<unknown>>;
    expect(await keysOf(watch())).toEqual(['1', '2']);
    expect(await keysOf(watch({ deep: true }))).toEqual(['1', '1/cards/7', '2']);
    expect(await codeOf(keysOf(watch({ prefix: '1/cards' })))).toBe('INVALID_REQUEST');
  });
});

describe('a subscription', () => {
  it('a subscription gets the result of a query, and every later one in the turn of its change', async () => {
    const fake = live();
    const { results } = await subscribed(watch(fake, { orderBy: [{ path: '/n', direction: 'desc' }] }));
    expect(results).toEqual([
      {
        documents: [
          { key: 'b', value: { n: 2 }, pending: false },
          { key: 'a', value: { n: 1 }, pending: false },
        ],
        changes: [
          { type: 'added', key: 'b', value: { n: 2 }, newIndex: 0 },
          { type: 'added', key: 'a', value: { n: 1 }, newIndex: 1 },
        ],
        snapshot: 1001,
        meta: { fromCache: false, hasPendingWrites: false, stalenessMs: 7, complete: true },
      },
    ]);
    fake.put({ 'default/todos/a': { n: 3 } }, true);
    expect(results[1]).toMatchObject({
      changes: [{ type: 'changed', key: 'a', value: { n: 3 }, oldIndex: 1, newIndex: 0 }],
      snapshot: 1002,
      meta: { hasPendingWrites: true },
    });
    expect(results[1]!.documents[1]).toBe(results[0]!.documents[0]);
  });

  it('a query without documents has a first result', async () => {
    const { results } = await subscribed(watch(live(), { prefix: 'x' }));
    expect(results).toMatchObject([{ documents: [], changes: [] }]);
  });

  it('a change that leaves the result as it is calls no listener', async () => {
    const fake = live();
    const { results } = await subscribed(watch(fake, { where: [{ path: '/n', op: '>', value: 1 }] }));
    fake.put({ 'default/todos/a': { n: 0 }, 'default/lists/a': { n: 9 } });
    expect(results).toHaveLength(1);
  });

  it('a subscription that has ended gets nothing, not even a result of the same turn', async () => {
    const fake = live();
    const one = await subscribed(watch(fake));
    let calls = 0;
    const end = watch(fake).subscribe(() => calls++);
    await settled();
    const both = watch(fake).subscribe(() => end());
    await settled();
    expect(calls).toBe(1);
    both();
    one.end();
    one.end();
    fake.put({ 'default/todos/c': { n: 5 } });
    expect(one.results).toHaveLength(1);
    expect(fake.observers.size).toBe(0);
  });

  it('a subscription that ends in the turn of its begin asks for nothing', async () => {
    const fake = live();
    await subscribed(watch(fake));
    watch(fake).subscribe(() => {})();
    const { end } = await subscribed(watch(fake));
    end();
    expect(fake.begun).toBe(2);
  });

  it('an error of a listener is printed, and takes neither the others nor later results with it', async () => {
    const printed = jest.spyOn(console, 'error').mockImplementation(() => {});
    const fake = live();
    let calls = 0;
    watch(fake).subscribe(() => {
      calls++;
      throw new Error('mine');
    });
    const { results } = await subscribed(watch(fake));
    fake.put({ 'default/todos/c': { n: 5 } });
    await settled();
    expect([calls, results.length, printed.mock.calls.length]).toEqual([2, 2, 2]);
    printed.mockRestore();
  });

  it('the end of a watch comes to the second function, or is printed without one unless the client was closed', async () => {
    const printed = jest.spyOn(console, 'error').mockImplementation(() => {});
    const fake = live();
    const { errors } = await subscribed(watch(fake));
    watch(fake).subscribe(() => {});
    await settled();
    fake.fail('WATCH_TOO_LARGE');
    watch(fake).subscribe(() => {});
    await settled();
    fake.fail('CLIENT_CLOSED');
    expect(errors).toEqual(['WATCH_TOO_LARGE']);
    expect(printed.mock.calls).toEqual([[expect.objectContaining({ code: 'WATCH_TOO_LARGE' })]]);
    expect(fake.observers.size).toBe(0);
    printed.mockRestore();
  });

  it('the abort of a signal ends a subscription without a call', async () => {
    const fake = live();
    const controller = new AbortController();
    const { results, errors } = await subscribed(watch(fake, { signal: controller.signal }));
    controller.abort();
    fake.put({ 'default/todos/c': { n: 5 } });
    expect([results.length, errors.length, fake.observers.size]).toEqual([1, 0, 0]);
    const late = await subscribed(watch(fake, { signal: controller.signal }));
    expect([late.results.length, fake.begun]).toEqual([0, 1]);
  });
});

describe('an iteration', () => {
  it('an iteration that is slow gets the newest result, with the changes from the one that it took', async () => {
    const fake = live();
    const results = iteratorOf(watch(fake));
    expect((await resultOf(results.next())).documents).toHaveLength(2);
    fake.put({ 'default/todos/c': { n: 5 } });
    fake.put({ 'default/todos/c': { n: 6 }, 'default/todos/a': undefined });
    fake.put({ 'default/todos/d': { n: 7 } });
    fake.put({ 'default/todos/d': undefined });
    expect((await resultOf(results.next())).changes).toEqual([
      { type: 'removed', key: 'a', value: { n: 1 }, oldIndex: 0 },
      { type: 'added', key: 'c', value: { n: 6 }, newIndex: 1 },
    ]);
    const next = results.next();
    fake.put({ 'default/todos/b': { n: 8 } });
    expect((await resultOf(next)).documents[0]).toMatchObject({ key: 'b', value: { n: 8 } });
  });

  it('an iteration begins with its first result that is asked for, and ends with the loop', async () => {
    const fake = live();
    const source = watch(fake);
    const unused = iteratorOf(source);
    await settled();
    expect(fake.begun).toBe(0);
    for await (const { documents } of source) {
      expect(documents).toHaveLength(2);
      expect(fake.observers.size).toBe(1);
      break;
    }
    expect(fake.observers.size).toBe(0);
    await unused.return!();
    expect(await unused.next()).toEqual({ done: true, value: undefined });
    expect(fake.begun).toBe(1);
  });

  it('an iteration that waits for a result can be ended', async () => {
    const fake = live();
    const results = iteratorOf(watch(fake));
    await results.next();
    const next = results.next();
    expect(await results.return!()).toEqual({ done: true, value: undefined });
    expect(await next).toEqual({ done: true, value: undefined });
    expect(fake.observers.size).toBe(0);
  });

  it('an iteration throws the error of its watch once, and then ends', async () => {
    const fake = live();
    const results = iteratorOf(watch(fake));
    await results.next();
    const next = results.next();
    fake.fail('WATCH_TOO_LARGE');
    expect(await codeOf(next)).toBe('WATCH_TOO_LARGE');
    expect(await results.next()).toEqual({ done: true, value: undefined });
  });

  it('an iteration throws the reason of an aborted signal', async () => {
    const fake = live();
    const controller = new AbortController();
    const results = iteratorOf(watch(fake, { signal: controller.signal }));
    await results.next();
    const next = results.next();
    controller.abort(new Error('enough'));
    await expect(next).rejects.toThrow('enough');
    expect(fake.observers.size).toBe(0);
    await expect(iteratorOf(watch(fake, { signal: controller.signal })).next()).rejects.toThrow('enough');
  });

  it('every iteration of a watch is one of its own', async () => {
    const fake = live();
    const source = watch(fake);
    const [one, other] = [iteratorOf(source), iteratorOf(source)];
    await one.next();
    fake.put({ 'default/todos/c': { n: 5 } });
    expect((await resultOf(other.next())).changes).toHaveLength(3);
    expect((await resultOf(one.next())).changes).toHaveLength(1);
  });
});

describe('one document', () => {
  it('the watch of one document has its value, and undefined without one', async () => {
    const fake = live();
    const source = watchOf<Todo>(fake, scope, 'c');
    const { results } = await subscribed(source);
    fake.put({ 'default/todos/c': { n: 5 } }, true);
    fake.put({ 'default/todos/c': undefined });
    expect(results).toMatchObject([
      { key: 'c', value: undefined, pending: false },
      { key: 'c', value: { n: 5 }, pending: true, meta: { hasPendingWrites: true } },
      { key: 'c', value: undefined },
    ]);
  });

  it('named documents come in the order of the query, each once', async () => {
    const { results } = await subscribed(watch(live(), { keys: ['b', 'x', 'a', 'b'] }));
    expect(results[0]!.documents.map(({ key }) => key)).toEqual(['b', 'a']);
  });
});

describe('several watches', () => {
  const cutOf = (fake: FakeLive) => {
    const lists = watchOf<Todo>(fake, { keyspace: 'default', prefix: 'lists/' }, 'a') as Watch<{ value: Todo }>;
    return { todos: watch(fake, { limit: 1 }), lists };
  };

  it('several watches have one result at one snapshot, in which the unchanged parts are the same objects', async () => {
    const fake = live();
    const watches = cutOf(fake);
    const { results } = await subscribed(new Watch<ReturnType<typeof Object>>(fake, { kind: 'cut', watches }));
    expect(fake.begun).toBe(1);
    fake.put({ 'default/lists/a': { n: 4 }, 'default/todos/c': { n: 9 } });
    fake.put({ 'default/todos/d': { n: 9 } });
    expect(results).toHaveLength(2);
    expect(results[1]).toMatchObject({
      snapshot: 1002,
      todos: { snapshot: 1002, changes: [] },
      lists: { snapshot: 1002, value: { n: 4 } },
    });
    expect(results[1].todos.documents).toBe(results[0].todos.documents);
  });

  it('watches of another client, no watches, and names that the result has are INVALID_REQUEST', async () => {
    const fake = live();
    const { todos } = cutOf(fake);
    for (const watches of [{ snapshot: todos }, { meta: todos }, { todos, other: watch(live()) }]) {
      const { errors } = await subscribed(new Watch(fake, { kind: 'cut', watches }));
      expect(errors).toEqual(['INVALID_REQUEST']);
    }
  });
});

describe('an empty query', () => {
  it.each([
    [{ keys: [] }],
    [{ limit: 0 }],
    [{ start: 'b', end: 'b' }],
    [{ prefix: 'a', end: 'a' }],
    [{ prefix: 'a', start: 'b' }],
  ])('a query of no keys has an empty result, and asks for nothing: %j', async (query) => {
    const fake = live();
    const { results, errors } = await subscribed(watch(fake, query) as Watch<QueryResult>);
    expect(results.map(({ documents, changes }) => [documents, changes])).toEqual([[[], []]]);
    expect(errors).toEqual([]);
    const { value } = await iteratorOf(watch(fake, query) as Watch<QueryResult>).next();
    expect(value.documents).toEqual([]);
  });

  it('a cut of no watches has a snapshot and nothing else', async () => {
    const { results, errors } = await subscribed(new Watch(live(), { kind: 'cut', watches: {} }));
    expect(results.map((result) => Object.keys(result as object).sort())).toEqual([['meta', 'snapshot']]);
    expect(errors).toEqual([]);
  });
});

describe('a wrong query', () => {
  it.each<[string, object]>([
    ['KEY_INVALID', { keys: [''] }],
    ['KEY_INVALID', { keys: ['a/b'] }],
    ['KEY_INVALID', { keys: ['\ud800'] }],
    ['KEY_INVALID', { prefix: 'x'.repeat(1020) }],
    ['INVALID_REQUEST', { start: 5 }],
    ['INVALID_REQUEST', { where: [{ path: 'n', op: '==', value: 1 }] }],
    ['INVALID_REQUEST', { keys: 'a' }],
    ['INVALID_REQUEST', { limit: -1 }],
  ])('a wrong query ends its readers with %s: %j', async (code, query) => {
    const fake = live();
    const { errors } = await subscribed(watch(fake, query));
    expect(errors).toEqual([code]);
    expect(await codeOf(iteratorOf(watch(fake, query)).next())).toBe(code);
    expect(fake.begun).toBe(0);
  });

  it('unknown options and values that JSON cannot hold are refused at once, with their names', () => {
    const refused = (query: object) => () => watch(live(), query);
    expect(refused({ offset: 1 })).toThrow('there is no option offset');
    expect(refused({ keys: ['a'], limit: 1 })).toThrow('there is no option limit');
    const value = Number.NaN;
    expect(refused({ where: [{ path: '/n', op: '==', value }] })).toThrow('where/0/value: NaN');
  });

  it('a refusal of the machine ends the readers', async () => {
    const fake = live();
    fake.refusal = new IsochronError('NOT_SUPPORTED_BY_PROTOCOL', 'of the test');
    const { errors } = await subscribed(watch(fake));
    expect(errors).toEqual(['NOT_SUPPORTED_BY_PROTOCOL']);
    expect(await codeOf(iteratorOf(watch(fake)).next())).toBe('NOT_SUPPORTED_BY_PROTOCOL');
  });

  it('a stored text that is not JSON ends the readers with FRAME_INVALID', async () => {
    const fake = live();
    const { errors, results } = await subscribed(watch(fake));
    fake.documents.set('default/todos/z', { key: 'default/todos/z', value: '{', pending: false });
    fake.put({ 'default/todos/z2': { n: 1 } });
    expect(errors).toEqual([]);
    const other = await subscribed(watch(fake));
    expect([other.errors, results.length, fake.observers.size]).toEqual([['FRAME_INVALID'], 2, 1]);
  });
});

describe('the range of a query', () => {
  const found = async (query: RangeQuery): Promise<string> => {
    const fake = new FakeLive();
    for (const id of ['a', 'b', 'ba', 'bb', 'c']) fake.put({ [`default/todos/${id}`]: { n: 1 } });
    fake.put({ 'default/todo': 1, 'default/todos0': 1, 'other/todos/b': 1 });
    const { results } = await subscribed(watch(fake, query));
    return results[0]!.documents.map(({ key }) => key).join();
  };

  it('a query has the keys of its prefix, from start on and below end', async () => {
    expect(await found({})).toBe('a,b,ba,bb,c');
    expect(await found({ prefix: 'b' })).toBe('b,ba,bb');
    expect(await found({ prefix: 'b', start: 'ba' })).toBe('ba,bb');
    expect(await found({ start: 'b', end: 'bb' })).toBe('b,ba');
    expect(await found({ prefix: 'b', start: 'a', end: 'x' })).toBe('b,ba,bb');
    expect(await found({ reverse: true, limit: 2 })).toBe('c,bb');
  });

  it('a query is copied: later changes of its object have no effect', async () => {
    const fake = live();
    const where = [{ path: '/n', op: '==' as const, value: 1 }];
    const source = watch(fake, { where });
    where[0]!.value = 2;
    const { results } = await subscribed(source);
    expect(results[0]!.documents.map(({ key }) => key)).toEqual(['a']);
    expect(watch(fake, { where }).name).not.toBe(source.name);
    expect(watch(fake, { where: [{ path: '/n', op: '==', value: 1 }] }).name).toBe(source.name);
  });
});
