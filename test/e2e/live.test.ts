/** Live queries and the change feed of the SDK over real nodes. */
import { connect, type IsochronClient, increment, type ResultDocument } from '@isochron/sdk';
import { Cluster, cleanUp, logged } from './harness.js';
import { until } from './until.js';

jest.setTimeout(120_000);

interface Count {
  readonly n: number;
}

let cluster: Cluster;
const clients: IsochronClient[] = [];
beforeAll(async () => {
  cluster = await Cluster.start({ regions: ['virginia', 'ireland'] });
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});
afterAll(cleanUp);

/** A client in a region. */
async function clientIn(region: string): Promise<IsochronClient> {
  const client = await connect({ endpoints: [cluster.endpoint(region)], returnAfterMs: 200 });
  clients.push(client);
  return client;
}

/** Every result that a client shows of two counters in two collections, and of its whole range. */
function shown(client: IsochronClient, name: string) {
  const states: { readonly left: number; readonly right: number; readonly snapshot: number }[] = [];
  const ranges: (readonly ResultDocument<Count>[])[] = [];
  const cut = {
    left: client.collection<Count>(`${name}-left`).watch('n'),
    right: client.collection<Count>(`${name}-right`).watch('n'),
    all: client.collection<Count>(`${name}-left`).watch(),
  };
  const end = client.live(cut, ({ left, right, all, snapshot }) => {
    states.push({ left: left.value?.n ?? 0, right: right.value?.n ?? 0, snapshot });
    ranges.push(all.documents);
  });
  return { states, ranges, end };
}

/** Adds one to both counters, in one transaction. */
const addToBoth = (client: IsochronClient, name: string) =>
  client.transaction((tx) => {
    for (const side of ['left', 'right']) tx.collection<Count>(`${name}-${side}`).update('n', [increment('/n')]);
  });

/** Fails for half a transaction, for a result of an older snapshot, and for a count that goes back. */
function expectNoFlicker({ states, ranges }: ReturnType<typeof shown>): void {
  for (const [i, { left, right, snapshot }] of states.entries()) {
    expect([i, left]).toEqual([i, right]);
    const before = states[i - 1];
    if (before === undefined) continue;
    expect(snapshot).toBeGreaterThanOrEqual(before.snapshot);
    expect(left).toBeGreaterThanOrEqual(before.left);
  }
  const seen = new Set<string>();
  for (const documents of ranges) {
    const keys = new Set(documents.map(({ key }) => key));
    for (const key of seen) expect(keys).toContain(key);
    for (const key of keys) seen.add(key);
  }
}

describe('live queries over real nodes', () => {
  it(
    'two regions show the same counters, never half a transaction, and own writes in the turn of the call',
    logged(async () => {
      const [ann, ben] = [await clientIn('virginia'), await clientIn('ireland')];
      const views = [shown(ann, 'pair'), shown(ben, 'pair')] as const;
      await until('both have a first result', () => views.every(({ states }) => states.length > 0));
      await Promise.all(Array.from({ length: 50 }, (_, i) => addToBoth(i % 2 === 0 ? ann : ben, 'pair')));
      await until('both show all', () => views.every(({ states }) => states.at(-1)!.left === 100 / 2));
      for (const view of views) expectNoFlicker(view);
      const write = ann.collection<Count>('pair-left').update('n', [increment('/n')]);
      expect(views[0].states.at(-1)!.left).toBe(51);
      await write;
    }),
  );

  it(
    'a watch goes on from its snapshot when its node is killed with -9, and shows no document anew',
    logged(async () => {
      const [ann, ben] = [await clientIn('virginia'), await clientIn('ireland')];
      const untouched = ann.collection<Count>('kill-left');
      for (let i = 0; i < 20; i++) await untouched.set(`other-${i}`, { n: i });
      await (await addToBoth(ann, 'kill')).write!.stable();
      const view = shown(ben, 'kill');
      await until('all is there', () => view.ranges.at(-1)?.length === 21);
      const first = view.ranges.at(-1)!.filter(({ key }) => key !== 'n');
      await cluster.kill('ireland-1');
      for (let i = 0; i < 10; i++) await addToBoth(ann, 'kill');
      await addToBoth(ben, 'kill');
      expect(view.states.at(-1)!.left).toBeGreaterThan(1);
      await cluster.restart('ireland-1');
      await addToBoth(ben, 'kill');
      await until('ben shows all', () => view.states.at(-1)!.left === 13);
      await until('nothing is pending', () => view.ranges.at(-1)!.every(({ pending }) => !pending));
      expectNoFlicker(view);
      const last = new Set(view.ranges.at(-1));
      expect(first.filter((document) => !last.has(document))).toEqual([]);
    }),
  );

  it(
    'while a region is cut off own writes show and stay pending, and afterwards every region has them',
    logged(async () => {
      const [ann, ben] = [await clientIn('virginia'), await clientIn('ireland')];
      const views = [shown(ann, 'cut'), shown(ben, 'cut')] as const;
      await until('both have a first result', () => views.every(({ states }) => states.length > 0));
      const ireland = cluster.process('ireland-1');
      ireland.signal('SIGSTOP');
      const writes = Array.from({ length: 5 }, () => addToBoth(ann, 'cut'));
      await until('all show', () => views[0].states.at(-1)!.left === 5);
      expect(views[0].ranges.at(-1)!.every(({ pending }) => pending)).toBe(true);
      ireland.signal('SIGCONT');
      await Promise.all(writes);
      await until('both show all', () => views.every(({ states }) => states.at(-1)!.left === 5));
      await until('it is stable', () => views[0].ranges.at(-1)!.every(({ pending }) => !pending));
      for (const view of views) expectNoFlicker(view);
    }),
  );

  it(
    'a transaction behind a result reads at least what that showed (LQ5)',
    logged(async () => {
      const [ann, ben] = [await clientIn('virginia'), await clientIn('ireland')];
      const results = ben.collection<Count>('seen').watch('n')[Symbol.asyncIterator]();
      await results.next();
      for (let n = 1; n <= 10; n++) {
        await ann.collection<Count>('seen').set('n', { n });
        const { value } = await results.next();
        const read = await ben.collection<Count>('seen').get('n');
        expect(read?.n).toBeGreaterThanOrEqual(value!.value?.n ?? 0);
      }
      await results.return?.();
    }),
  );

  it(
    'the change feed gives every transaction once, as a whole and in order, while its node is killed and comes back',
    logged(async () => {
      const [ann, ben] = [await clientIn('virginia'), await clientIn('ireland')];
      const feed = ben.changes({ keyspace: 'default', prefix: 'feed-' });
      const sums: number[] = [];
      let cursor = '';
      const follow = async (since?: string): Promise<void> => {
        const messages = since === undefined ? feed : ben.changes({ keyspace: 'default', prefix: 'feed-', since });
        for await (const message of messages) {
          expect(message.to).toBeGreaterThanOrEqual(message.from);
          for (const { writes } of message.transactions) {
            expect(writes).toHaveLength(2);
            sums.push((writes[0]!.value as Count).n);
          }
          cursor = message.cursor;
          if (sums.at(-1) === 9 || sums.at(-1) === 19) return;
        }
      };
      const write = (n: number) =>
        ann.transaction((tx) => {
          tx.set('feed-a', { n });
          tx.set('feed-b', { n });
        });
      const first = follow();
      await until('the feed has begun', () => cursor !== '');
      for (let n = 0; n < 10; n++) await write(n);
      await first;
      const second = follow(cursor);
      for (let n = 10; n < 15; n++) await write(n);
      await cluster.kill('ireland-1');
      for (let n = 15; n < 20; n++) await write(n);
      await cluster.restart('ireland-1');
      await second;
      expect(sums).toEqual(Array.from({ length: 20 }, (_, n) => n));
    }),
  );
});
