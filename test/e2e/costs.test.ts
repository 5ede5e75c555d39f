/** The costs of protocols as real nodes count them: each metric moves with its cause, and stays where there is none. */
import type { ProtocolName } from '@isochron/protocols/session-rules';
import { connect } from '@isochron/sdk';
import { Cluster, cleanUp, logged } from './harness.js';
import { call } from './http.js';
import { runsInFull } from './matrix.js';
import { until } from './until.js';

jest.setTimeout(120_000);
afterAll(cleanUp);

interface Case {
  readonly protocol: ProtocolName;
  /** Bytes of metadata of an update with two regions: 9 a timestamp, 1 more a list. Unset if it depends on reads. */
  readonly metadata?: number;
  /** Kinds of messages by which regions ensure that they have the dependencies of an update. */
  readonly checks?: readonly string[];
  /** The protocol reads one key at a time. */
  readonly singly?: boolean;
  readonly readsBlock: boolean;
  readonly writesBlock: boolean;
}

const CASES: readonly Case[] = [
  { protocol: 'paris', metadata: 9, readsBlock: false, writesBlock: false },
  { protocol: 'bpr', metadata: 9, readsBlock: true, writesBlock: false },
  { protocol: 'nocc', metadata: 9, readsBlock: false, writesBlock: false },
  { protocol: 'wren', metadata: 9 + 1 + 9, readsBlock: false, writesBlock: false },
  { protocol: 'cure', metadata: 9 + 1 + 2 * 9, readsBlock: true, writesBlock: false },
  { protocol: 'contrarian', metadata: 9 + 1 + 2 * 9, readsBlock: false, writesBlock: false },
  { protocol: 'okapi', metadata: 9, readsBlock: false, writesBlock: false },
  { protocol: 'gentlerain', metadata: 9, readsBlock: true, writesBlock: true },
  { protocol: 'eventual', metadata: 9, readsBlock: false, writesBlock: false },
  { protocol: 'orbe', checks: ['dependency-checks'], singly: true, readsBlock: false, writesBlock: false },
  { protocol: 'cops-gt', checks: ['dependency-checks'], readsBlock: false, writesBlock: false },
  { protocol: 'cc-lo', checks: ['readers-checks'], readsBlock: false, writesBlock: true },
];

/** Clocks of the nodes of a region, in ms: a session that moves from the first to the second comes from the future. */
const SKEWS_MS = [40, 0];
const ROUNDS = 8;
const KEYS = Array.from({ length: 8 }, (_, i) => `costs/${i}`);

/** Sum over the nodes of all samples of a metric that have these labels. */
async function total(cluster: Cluster, name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
  const texts = await Promise.all(
    cluster.nodes.map(async ({ metrics }) => (await call(metrics, 'GET', '/metrics')).text),
  );
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  const lines = texts.flatMap((text) => text.split('\n'));
  const samples = lines.filter((line) => line.startsWith(`${name}{`) && wanted.every((label) => line.includes(label)));
  return samples.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

describe.each(CASES.filter(runsInFull))(
  'what $protocol costs',
  ({ protocol, metadata, checks = [], singly = false, readsBlock, writesBlock }) => {
    let cluster: Cluster;

    beforeAll(async () => {
      cluster = await Cluster.prepare({
        protocol,
        regions: ['virginia', 'oregon'],
        nodesPerRegion: SKEWS_MS.length,
        partitions: 4,
        wan: { 'virginia<>oregon': 20 },
      });
      for (const [i, { id }] of cluster.nodes.entries()) {
        cluster.launch(id, { args: ['--clock-skew-ms', String(SKEWS_MS[i % SKEWS_MS.length])] });
      }
      await cluster.ready();
      const client = await connect({ endpoints: cluster.endpoints('virginia') });
      for (let round = 0; round < ROUNDS; round++) {
        for (const key of KEYS) await client.set(key, round);
        if (singly) for (const key of KEYS) await client.get(key);
        else await client.getMany(KEYS);
      }
      await client.close();
    });
    afterAll(() => cluster.dispose());

    const sent = (unit: 'bytes' | 'messages', kind: string, scope: string) =>
      total(cluster, `isochron_sent_${unit}_total`, { protocol, kind, scope });

    it(
      'bytes and messages are counted by purpose and distance, and add up to all that was sent',
      logged(async () => {
        for (const [kind, scope] of [
          ['operations', 'region'],
          ['replication', 'wan'],
          ['stabilization', 'region'],
          ['stabilization', 'wan'],
          ['framing', 'region'],
          ['framing', 'wan'],
          ...checks.map((kind) => [kind, 'region'] as const),
        ] as const) {
          const [bytes, messages] = [await sent('bytes', kind, scope), await sent('messages', kind, scope)];
          expect([kind, scope, messages > 0, bytes > messages]).toEqual([kind, scope, true, true]);
        }
        // A client's operations stay in its region where every region holds every key.
        expect(await sent('bytes', 'operations', 'wan')).toBe(0);
        expect(await sent('bytes', 'replication', 'region')).toBe(0);
        const counters = { event: 'sentBytes' };
        const before = await total(cluster, 'isochron_events_total', counters);
        const all = await total(cluster, 'isochron_sent_bytes_total');
        expect(all).toBeGreaterThanOrEqual(before);
        expect(all).toBeLessThanOrEqual(await total(cluster, 'isochron_events_total', counters));
      }),
    );

    it(
      'the metadata of each update is counted once for every other region',
      logged(async () => {
        const updates = ROUNDS * KEYS.length;
        const replicated = () => total(cluster, 'isochron_replicated_updates_total', { protocol });
        await until('all updates have been sent', async () => (await replicated()) >= updates);
        expect(await replicated()).toBe(updates);
        const bytes = await total(cluster, 'isochron_metadata_bytes_total', { protocol });
        // The first updates depend on nothing yet, and zeros are short.
        expect(bytes).toBeGreaterThan((updates - 4) * (metadata ?? 9));
        if (metadata !== undefined) expect(bytes).toBeLessThanOrEqual(updates * metadata);
        else expect(bytes).toBeGreaterThan(updates * 9);
      }),
    );

    it(
      'the waits of reads and writes are measured, and zero where the protocol cannot block',
      logged(async () => {
        for (const [kind, blocks] of [
          ['read', readsBlock],
          ['write', writesBlock],
        ] as const) {
          const count = await total(cluster, `isochron_blocked_${kind}s_total`, { protocol });
          const seconds = await total(cluster, `isochron_blocked_${kind}_seconds_total`, { protocol });
          const longest = await total(cluster, `isochron_blocked_${kind}_longest_seconds`, { protocol });
          expect([kind, count > 0, seconds > 0, longest > 0]).toEqual([kind, blocks, blocks, blocks]);
        }
      }),
    );

    it(
      'the visibility delay of updates of the other region is measured',
      logged(async () => {
        const labels = { protocol, source: 'virginia' };
        await until('a sample', async () => (await total(cluster, 'isochron_visibility_seconds_count', labels)) > 0);
        expect(await total(cluster, 'isochron_visibility_seconds_sum', labels)).toBeGreaterThanOrEqual(0);
        expect(await total(cluster, 'isochron_visibility_seconds_count', { source: 'oregon' })).toBe(0);
      }),
    );
  },
);
