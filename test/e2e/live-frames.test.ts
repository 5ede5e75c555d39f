import { connect, increment } from '@isochron/sdk';
import { SESSION_SUBPROTOCOLS } from '@isochron/wire/session-frames';
import { type ReceivedFrame, SessionClient } from '../../server/testing/session-client.js';
import { Cluster, cleanUp, logged } from './harness.js';

jest.setTimeout(60_000);
afterEach(cleanUp);

type Change = [key: string, contents: [ts: number, tx: string, content: unknown][]];

const toOf = (frame: ReceivedFrame): number => frame.to as number;
const keysOf = (frame: ReceivedFrame): string[] => (frame.changes as Change[]).map(([key]) => key).sort();

/** The next answers to `live`, until they have so many keys; each request goes on where the one before ended. */
async function follow(session: SessionClient, from: number, firstId: number, keys: number, fields: object = {}) {
  const seen: Change[] = [];
  let after = from;
  for (let id = firstId; seen.length < keys; id++) {
    session.send({ type: 'live', id, after, waitMs: 10_000, ...(id === firstId ? fields : {}) });
    const frame = await session.answer(id);
    expect(frame).toMatchObject({ type: 'live' });
    expect(toOf(frame)).toBeGreaterThanOrEqual(after);
    seen.push(...(frame.changes as Change[]));
    after = toOf(frame);
  }
  return { seen, after };
}

describe('live queries over the frames of a session', () => {
  it(
    'a session gets what other regions write in its scopes, goes on at another node, and the feed has the same',
    logged(async () => {
      const cluster = await Cluster.start();
      const writer = await connect({ endpoints: [cluster.endpoint('ireland')] });
      const session = await SessionClient.open(cluster.endpoint('virginia'), SESSION_SUBPROTOCOLS.msgpack);
      const welcome = await session.hello();
      expect(welcome.capabilities).toContain('live-queries');
      const start = welcome.ust as number;
      const add = [
        { watch: 1, keys: ['default/live/a'] },
        { watch: 2, start: 'default/live/list/', end: 'default/live/list0' },
      ];
      const first = follow(session, start, 1, 3, { add });
      await writer.transaction((tx) => {
        tx.set('live/a', { n: 1 });
        tx.set('live/list/1', [1]);
        tx.set('live/elsewhere', 0);
      });
      await writer.update('live/list/2', [increment('', 5)]);
      const { seen, after } = await first;
      expect(seen.map(([key]) => key).sort()).toEqual(['default/live/a', 'default/live/list/1', 'default/live/list/2']);
      expect(seen.find(([key]) => key === 'default/live/list/2')![1][0]![2]).toEqual({
        operations: '[{"op":"increment","path":"","by":5}]',
      });

      // A request that waits delays no other one, and a new one ends it at once.
      session.send({ type: 'live', id: 100, after, waitMs: 60_000 });
      session.send({ type: 'ping', id: 101 });
      await session.answer(101);
      session.send({ type: 'live', id: 102, after, waitMs: 0, remove: [1] });
      expect(await session.answer(100)).toMatchObject({ type: 'live', changes: [] });
      expect(await session.answer(102)).toMatchObject({ type: 'live', changes: [] });
      session.close();

      // What was missed comes at another node, in another region: the net contents alone.
      for (let n = 2; n < 30; n++) await writer.set('live/a', { n });
      await (await writer.delete('live/list/1')).stable();
      const other = await SessionClient.open(cluster.endpoint('oregon'));
      await other.hello();
      const missed = await follow(other, after, 1, 2, { add });
      const contents = new Map(missed.seen.map(([key, of]) => [key, of.map(([, , content]) => content)]));
      expect(contents.get('default/live/a')!.at(-1)).toBe('{"n":29}');
      expect(contents.get('default/live/list/1')).toEqual([null]);

      const changes = { type: 'changes', id: 200, scope: 'default/live/', after: start, waitMs: 0, values: true };
      other.send(changes);
      const page = await other.answer(200);
      const transactions = page.transactions as { writes: { key: string; value: unknown; after?: string }[] }[];
      expect(transactions[0]!.writes.map(({ key }) => key).sort()).toEqual([
        'default/live/a',
        'default/live/elsewhere',
        'default/live/list/1',
      ]);
      expect(transactions[1]!.writes).toEqual([{ key: 'default/live/list/2', value: expect.anything(), after: '5' }]);
      expect(keysOf(await liveAt(other, 300, start))).toContain('default/live/list/2');
      other.close();
      await writer.close();
    }),
  );
});

/** Everything in the scopes of a session after a timestamp. */
function liveAt(session: SessionClient, id: number, after: number): Promise<ReceivedFrame> {
  session.send({ type: 'live', id, after, waitMs: 0 });
  return session.answer(id);
}
