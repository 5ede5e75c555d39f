import { IsochronError } from '@isochron/core/errors';
import type { Timer } from '../loop.js';
import { type Endpoint, Endpoints } from './endpoints.js';
import type { Caller } from './exchange.js';
import { firstOf } from './first-of.js';

const endpoints = new Endpoints(['ws://a', 'ws://b', 'ws://c']).all;

/** A connection that records only whether it was closed. */
class FakeConnection {
  closed = false;
  close(): void {
    this.closed = true;
  }
}

/** A choice under way: the endpoints tried, and their results. */
function choosing(among: readonly Endpoint[] = endpoints) {
  const tried = new Map<string, Caller<FakeConnection>>();
  const chosen: (FakeConnection | undefined)[] = [];
  const refusals: string[] = [];
  const timers = new Set<Timer>();
  const loop = {
    after: (ms: number, run: () => void) => {
      const timer = { atMs: ms, run };
      timers.add(timer);
      return timer;
    },
    cancel: (timer: Timer | undefined) => {
      if (timer !== undefined) timers.delete(timer);
    },
  };
  const open = ({ url }: Endpoint, caller: Caller<FakeConnection>) => void tried.set(url[5]!, caller);
  const refuse = ({ message }: IsochronError) => void refusals.push(message);
  firstOf(loop, among, open, refuse, (connection) => chosen.push(connection));
  const stagger = () => [...timers].at(-1)!.run();
  const fail = (name: string, code: 'CONNECTION_LOST' | 'UNAUTHENTICATED') =>
    tried.get(name)!.reject(new IsochronError(code, name));
  return { tried, chosen, refusals, stagger, fail };
}

describe('the first of several endpoints', () => {
  it('the first of several endpoints is found by trying one after the other, until one opens', () => {
    const { tried, chosen, fail } = choosing();
    expect([...tried.keys()]).toEqual(['a']);
    fail('a', 'CONNECTION_LOST');
    const connection = new FakeConnection();
    tried.get('b')!.resolve(connection);
    expect([[...tried.keys()], chosen]).toEqual([['a', 'b'], [connection]]);
  });

  it('the choice does not wait for an endpoint without an answer, and closes it when it opens later', () => {
    const { tried, chosen, stagger } = choosing();
    stagger();
    const [slow, fast] = [new FakeConnection(), new FakeConnection()];
    tried.get('b')!.resolve(fast);
    tried.get('a')!.resolve(slow);
    expect([chosen, slow.closed, fast.closed]).toEqual([[fast], true, false]);
  });

  it('the choice ends with a refusal only when every endpoint has failed', () => {
    const refused = choosing();
    refused.fail('a', 'UNAUTHENTICATED');
    refused.fail('b', 'UNAUTHENTICATED');
    refused.fail('c', 'CONNECTION_LOST');
    expect([refused.chosen, refused.refusals]).toEqual([[undefined], ['a']]);
    const taken = choosing();
    taken.fail('a', 'UNAUTHENTICATED');
    taken.fail('b', 'UNAUTHENTICATED');
    taken.tried.get('c')!.resolve(new FakeConnection());
    expect([taken.chosen.length, taken.refusals]).toEqual([1, []]);
  });

  it('the first of no endpoints is undefined', () => {
    expect(choosing([]).chosen).toEqual([undefined]);
  });
});
