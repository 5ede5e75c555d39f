/**
 * The effects of a peer's well-formed messages on a running node (D12). A frame that decodes may still make no sense:
 * no such message breaks the node, now or after a restart, and one about unknown regions and transactions changes
 * nothing.
 */
import { IsochronError, MalformedMessage, packWall, type Timestamp } from '@isochron/core';
import { type TransactionMessage, transactionSchema } from '@isochron/protocols';
import { type TransactionSamples, transactionSamples } from '@isochron/testing/samples';
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { World } from '@isochron/testing/world/world';
import { FrameCodec } from '@isochron/wire';
import { pack, unpack } from '@isochron/wire/msgpack';
import fc from 'fast-check';
import { fuzz } from './fuzz.js';
import { place, replaced } from './hostile.js';

const codec = new FrameCodec<TransactionMessage>(transactionSchema);
const NODE = 'virginia-1';
const TX = 'abcdefghijklmnopqrstuv.0';
const MINUTE = 60_000 * 4096;

/** A cluster in which a transaction is prepared and not decided. */
function livelyWorld(): { world: World; undecided: string } {
  const world = new World();
  world.until(() => world.ust() > 0);
  const client = new TestClient(world, NODE);
  client.write({ [keyIn(world, 0)]: '"before"' });
  world.filter = ({ message }) => message.type !== 'CommitTx';
  const { txId } = client.write({ [keyIn(world, 0)]: '1', [keyIn(world, 4)]: '2' });
  world.filter = () => true;
  return { world, undecided: txId };
}

const contextOf = (world: World) => ({
  partition: 0,
  other: 4,
  key: keyIn(world, 0),
  txId: TX,
  now: packWall(world.now),
  home: 'virginia',
  source: 'oregon',
});

const TYPES = Object.keys(transactionSamples(contextOf(new World()))) as (keyof TransactionSamples)[];
const MACHINES = [
  'replica/0',
  'replica/5',
  'replica/99',
  'coordinator',
  'stabilization',
  'rebuild',
  'client',
  'nowhere',
];

/** The machine that takes messages of a type. */
function machineFor(type: TransactionMessage['type']): string {
  if (/^Gossip/.test(type)) return 'stabilization';
  if (/^Join|^CopyResp/.test(type)) return 'rebuild';
  return /Resp$|^Refused|^PrepareRefused|^(Start|Read|List|Commit|End)Tx|^(Read|List|Commit|TxStatus)Req/.test(type)
    ? 'coordinator'
    : 'replica/0';
}

/** One message: its type, its damage, its sender and receiver, and how long the node then runs, ms. */
const hostileMessages = fc.array(
  fc.record({
    type: fc.constantFrom(...TYPES),
    edits: fc.array(fc.tuple(place, fc.nat({ max: 1000 })), { maxLength: 4 }),
    to: fc.option(fc.constantFrom(...MACHINES), { freq: 4, nil: undefined }),
    from: fc.constantFrom('oregon-1', 'ireland-1'),
    thenMs: fc.nat({ max: 30 }),
  }),
  { minLength: 1, maxLength: 30, size: 'max' },
);

/** Another value of the same kind: a meaningful one, or an edge case. */
function another(old: unknown, pick: number, now: Timestamp, undecided: string): unknown {
  const of = <T>(...values: T[]): T => values[pick % values.length]!;
  if (typeof old === 'number') {
    return of(
      0,
      1,
      3,
      4,
      6,
      99,
      2 ** 32 - 1,
      now,
      now + 1,
      now - 9000,
      now - MINUTE,
      now + 1000,
      now + MINUTE,
      now + 4 * MINUTE,
    );
  }
  if (typeof old === 'string') {
    return of(
      undecided,
      TX,
      '',
      'oregon',
      'virginia',
      'ireland',
      'atlantis',
      'default/',
      'x/y',
      'default/k0',
      '\0',
      'x'.repeat(128),
    );
  }
  if (typeof old === 'boolean') return !old;
  if (Array.isArray(old))
    return of<unknown[]>([], [...old, ...old], old.slice(1), [...old].reverse(), Array(old.length).fill(old[0]));
  return old === null ? of<unknown>(null, 0, now, 'default/a') : old;
}

/** A message after encoding and decoding: undefined when the decoder refuses it. */
function overTheWire(message: TransactionMessage, edit: (fields: unknown) => unknown): TransactionMessage | undefined {
  const whole = unpack(codec.encode({ hlc: 1, envelopes: [{ to: 'a', from: 'b', message }] })) as unknown[];
  const [[to, from, tag, ...fields]] = whole[1] as [unknown[]];
  const edited = edit(fields);
  try {
    const bytes = pack([1, [[to, from, tag, ...(Array.isArray(edited) ? edited : [edited])]]]);
    return codec.decode(bytes).envelopes[0]!.message;
  } catch (error) {
    if (error instanceof MalformedMessage) return undefined;
    throw error;
  }
}

describe('messages of peers', () => {
  fuzz(
    'messages of peers never break a node, which continues to work, also after a restart',
    50,
    [hostileMessages],
    (messages) => {
      const { world, undecided } = livelyWorld();
      try {
        for (const { type, edits, to, from, thenMs } of messages) {
          const now = packWall(world.now);
          const sample = transactionSamples(contextOf(world))[type];
          const spoil = (fields: unknown) =>
            edits.reduce((part, [at, pick]) => replaced(part, at, (old) => another(old, pick, now, undecided)), fields);
          const message = overTheWire(sample, spoil);
          if (message === undefined) continue;
          world.inject({ node: NODE, machine: to ?? machineFor(type) }, { node: from, machine: 'replica/0' }, message);
          world.run(thenMs);
        }
        world.run(2000);
        world.crash(NODE);
        world.restart(NODE);
        world.run(2000);
        const { ct } = new TestClient(world, NODE).write({ [keyIn(world, 0, 'after')]: '1' });
        world.until(() => world.ust() >= ct, 20_000);
      } catch (error) {
        // A peer may know better than a disk what that disk should hold (D10): the node then reports that and stops.
        if (!(error instanceof IsochronError) || error.code !== 'REBUILD_NEEDED') throw error;
      }
    },
  );

  it.each([[[0, 0]], [[0, 4, 4]], [[4, 0]], [[0, 99]], [[4]], [[]]])(
    'a prepare whose list of cohorts cannot be asked is ignored: %j',
    (cohorts) => {
      const world = new World();
      world.until(() => world.ust() > 0);
      const sample = transactionSamples(contextOf(world)).PrepareReq;
      const message = { ...sample, identity: { ...sample.identity, cohorts } };
      world.inject({ node: NODE, machine: 'replica/0' }, { node: 'oregon-1', machine: 'coordinator' }, message);
      world.run(100);
      expect(world.node(NODE).parts.replicas[0]!.cohort.counters).toMatchObject({ ignored: 1, prepares: 0 });
      expect(world.node(NODE).store.prepared.size).toBe(0);
    },
  );

  const edgeTimes = fc.constantFrom('ust', 'ht', 'sentAfter') as fc.Arbitrary<'ust' | 'ht' | 'sentAfter'>;
  fuzz(
    'a prepare with a time too far ahead is refused, and moves no clock',
    30,
    [edgeTimes, fc.integer({ min: 601_000, max: 10 ** 11 })],
    (field, aheadMs) => {
      const world = new World();
      world.until(() => world.ust() > 0);
      const sample = transactionSamples(contextOf(world)).PrepareReq;
      const message = { ...sample, [field]: packWall(world.now + aheadMs) };
      world.inject({ node: NODE, machine: 'replica/0' }, { node: 'oregon-1', machine: 'coordinator' }, message);
      world.run(100);
      const { clock, replicas } = world.node(NODE).parts;
      expect(clock.last).toBeLessThan(packWall(world.now + 60_000));
      expect(replicas[0]!.cohort.counters.refusals).toBe(1);
      expect(world.node(NODE).store.prepared.size).toBe(0);
    },
  );

  /**
   * Message types that a node ignores unless it asked for them or they name a region and a transaction of the cluster.
   */
  const INEFFECTIVE = TYPES.filter(
    (type) =>
      !/^(StartTx|Read|List|Commit|EndTx|TxStatus|ReadSlice|ListSlice|Outcome|Resolve|Prepare|Join|Copy)Req$|^GossipUp$/.test(
        type,
      ),
  );
  const strange = fc.array(
    fc.record({
      type: fc.constantFrom(...INEFFECTIVE),
      number: fc.nat({ max: 2 ** 31 }),
      name: fc.constantFrom('atlantis', 'unknown-tx.1', '', '\0'),
      to: fc.constantFrom(...MACHINES),
    }),
    { minLength: 1, maxLength: 20, size: 'max' },
  );

  fuzz('messages about unknown regions and transactions change nothing', 40, [strange], (messages) => {
    const [injected, silent] = [quietWorld(), quietWorld()];
    for (const { type, number, name, to } of messages) {
      const message = renamed(transactionSamples(contextOf(injected))[type], number, name) as TransactionMessage;
      for (const machine of [to, machineFor(type)]) {
        injected.inject({ node: NODE, machine }, { node: 'oregon-1', machine: 'replica/0' }, message);
      }
      for (const world of [injected, silent]) world.run(7);
    }
    for (const world of [injected, silent]) world.run(2000);
    for (const { id, store } of injected.nodes.values())
      expect(contentOf(store)).toEqual(contentOf(silent.node(id).store));
    expect(injected.ust()).toBeGreaterThan(packWall(injected.now - 1000));
  });
});

function quietWorld(): World {
  const world = new World();
  world.until(() => world.ust() > 0);
  const writes = [{ key: keyIn(world, 0), value: '"before"' }];
  const sentAfter = world.ust();
  world.call(
    NODE,
    {
      type: 'CommitReq',
      txId: TX,
      snapshot: sentAfter,
      hwt: 0,
      sentAfter,
      attemptRegions: ['virginia'],
      principal: 'a',
      writes,
    },
    'CommitResp',
  );
  return world;
}

const contentOf = ({
  chains,
  outcomes,
  prepared,
  logs,
  meta,
}: World extends { node(id: string): { store: infer S } } ? S : never) => ({
  chains,
  outcomes,
  prepared,
  logs,
  names: [...meta.keys()].sort(),
});

/** Fields that classify a message; all others identify its subject. */
const KEPT: ReadonlySet<string> = new Set(['type', 'state', 'status', 'code', 'wallMs', 'joined', 'more']);

/** A copy with every name and every number replaced. */
function renamed(part: unknown, number: number, name: string): unknown {
  if (typeof part === 'number') return number;
  if (typeof part === 'string') return name;
  if (Array.isArray(part)) return part.map((inner) => renamed(inner, number, name));
  if (typeof part !== 'object' || part === null || part instanceof Uint8Array) return part;
  return Object.fromEntries(
    Object.entries(part).map(([field, inner]) => [field, KEPT.has(field) ? inner : renamed(inner, number, name)]),
  );
}
