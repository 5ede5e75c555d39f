/// <reference types="jest" />
import { type MessageSchema, type NodeId, type Timestamp, uint, type Value, value } from '@isochron/core';
import { FrameCodec, type PeerInfo } from '@isochron/wire';
import type { Envelope } from './envelope.js';
import type { PackedFrame } from './packing.js';
import type { Transport, TransportEvents } from './transport.js';

/** Messages that the suite sends. */
export type SuiteMessage =
  | { readonly type: 'Ping'; readonly n: number }
  | { readonly type: 'Blob'; readonly value: Value };

const schema: MessageSchema<SuiteMessage> = {
  Ping: { tag: 1, fields: { n: uint } },
  Blob: { tag: 2, fields: { value } },
};

/** The codec of the suite's messages. */
export const suiteCodec = (): FrameCodec<SuiteMessage> => new FrameCodec(schema);

/** A node that the suite opens. */
export interface SuiteNode {
  readonly node: NodeId;
  readonly hlc: () => Timestamp;
  readonly events: TransportEvents<SuiteMessage>;
}

/** Transports linked with each other, and the faults between them. */
export interface SuiteCluster {
  transport(node: NodeId): Transport<SuiteMessage>;
  /** Drops the link between two nodes until `heal`. */
  cut(a: NodeId, b: NodeId): void;
  heal(a: NodeId, b: NodeId): void;
  /** Closes all transports, also those that the suite has closed. */
  close(): Promise<void>;
}

type LinkEvent = { readonly node: NodeId; readonly up: boolean; readonly peer: PeerInfo | undefined };
type FrameEvent = {
  readonly from: NodeId;
  readonly hlc: Timestamp;
  readonly envelopes: readonly Envelope<SuiteMessage>[];
};

/** A node of a test, and all its events. */
export class Recorder implements SuiteNode {
  readonly frames: FrameEvent[] = [];
  readonly sent: { readonly to: NodeId; readonly frame: PackedFrame<SuiteMessage> }[] = [];
  readonly links: LinkEvent[] = [];
  clock: Timestamp = 1_000_000_000_000;

  constructor(readonly node: NodeId) {}

  readonly hlc = (): Timestamp => this.clock;
  readonly events: TransportEvents<SuiteMessage> = {
    frame: (from, hlc, envelopes) => this.frames.push({ from, hlc, envelopes }),
    sent: (to, frame) => this.sent.push({ to, frame }),
    link: (node, up, peer) => this.links.push({ node, up, peer }),
  };

  /** The numbers of all pings from a node. */
  pings(from: NodeId): number[] {
    const envelopes = this.frames.filter((frame) => frame.from === from).flatMap((frame) => frame.envelopes);
    return envelopes.flatMap(({ message }) => (message.type === 'Ping' ? [message.n] : []));
  }

  /** Ups and downs of the link to a node. */
  turns(node: NodeId): boolean[] {
    return this.links.filter((event) => event.node === node).map(({ up }) => up);
  }
}

/** Messages with the numbers `first` to `last`. */
export const pings = (from: NodeId, to: NodeId, first: number, last: number): Envelope<SuiteMessage>[] =>
  Array.from({ length: last - first + 1 }, (_, i) => ({
    to: { node: to, machine: 'replica/1' },
    from: { node: from, machine: 'coordinator' },
    message: { type: 'Ping', n: first + i },
  }));

/** Waits until the condition holds; fails after 10 s. */
export async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`still waiting: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

const range = (first: number, last: number): number[] => Array.from({ length: last - first + 1 }, (_, i) => first + i);

/** The tests of every transport. */
export function runTransportSuite(
  name: string,
  open: (codec: FrameCodec<SuiteMessage>, nodes: readonly SuiteNode[]) => Promise<SuiteCluster>,
): void {
  describe(name, () => {
    const a = () => recorders[0]!;
    const b = () => recorders[1]!;
    let recorders: Recorder[];
    let cluster: SuiteCluster;

    const send = (from: NodeId, to: NodeId, first: number, last = first) =>
      cluster.transport(from).send(to, pings(from, to, first, last));
    const blob = (blobValue: Value): Envelope<SuiteMessage>[] => {
      const [envelope] = pings('a-1', 'b-1', 0, 0);
      return [{ ...envelope!, message: { type: 'Blob', value: blobValue } }];
    };
    const linked = () =>
      until(
        () => recorders.every((x) => recorders.every((y) => x === y || cluster.transport(x.node).linkUp(y.node))),
        'all links are up',
      );
    const start = async (...nodes: NodeId[]) => {
      recorders = nodes.map((node) => new Recorder(node));
      cluster = await open(suiteCodec(), recorders);
      await linked();
    };

    afterEach(() => cluster.close());

    it('a transport delivers messages in the order they were sent', async () => {
      await start('a-1', 'b-1');
      for (let n = 0; n < 500; n++) send('a-1', 'b-1', n);
      await until(() => b().pings('a-1').length >= 500, '500 messages');
      expect(b().pings('a-1')).toEqual(range(0, 499));
      expect(b().frames).toHaveLength(500);
    });

    it('a transport carries the messages of one call in one frame, with their addresses', async () => {
      await start('a-1', 'b-1');
      const envelopes = pings('a-1', 'b-1', 0, 99);
      cluster.transport('a-1').send('b-1', envelopes);
      await until(() => b().frames.length > 0, 'a frame');
      expect(b().frames).toEqual([{ from: 'a-1', hlc: a().clock, envelopes }]);
    });

    it('a transport carries both directions at once', async () => {
      await start('a-1', 'b-1');
      for (let n = 0; n < 100; n++) {
        send('a-1', 'b-1', n);
        send('b-1', 'a-1', 1000 + n);
      }
      await until(() => a().pings('b-1').length + b().pings('a-1').length >= 200, '200 messages');
      expect(b().pings('a-1')).toEqual(range(0, 99));
      expect(a().pings('b-1')).toEqual(range(1000, 1099));
    });

    it("the receiver of every frame gets the sender's clock at that moment (T2)", async () => {
      await start('a-1', 'b-1');
      send('a-1', 'b-1', 1);
      a().clock += 5;
      send('a-1', 'b-1', 2);
      await until(() => b().frames.length >= 2, 'two frames');
      expect(b().frames.map(({ hlc }) => hlc)).toEqual([1_000_000_000_000, 1_000_000_000_005]);
    });

    it('both ends are notified once that a link is up and which node is at the other end', async () => {
      await start('a-1', 'b-1');
      await until(() => a().links.length > 0 && b().links.length > 0, 'events at both ends');
      expect(a().links).toEqual([{ node: 'b-1', up: true, peer: expect.objectContaining({ nodeId: 'b-1' }) }]);
      expect(b().links).toEqual([{ node: 'a-1', up: true, peer: expect.objectContaining({ nodeId: 'a-1' }) }]);
      expect(b().links[0]?.peer?.hlc).toBe(a().clock);
    });

    it('both ends are notified when a link drops and when it is up again', async () => {
      await start('a-1', 'b-1');
      cluster.cut('a-1', 'b-1');
      await until(() => [a().turns('b-1'), b().turns('a-1')].every((turns) => turns.at(-1) === false), 'down');
      expect(cluster.transport('a-1').linkUp('b-1')).toBe(false);
      cluster.heal('a-1', 'b-1');
      await linked();
      await until(() => [a().turns('b-1'), b().turns('a-1')].every((turns) => turns.at(-1) === true), 'up');
      expect(a().turns('b-1')).toEqual([true, false, true]);
      expect(b().turns('a-1')).toEqual([true, false, true]);
      expect(cluster.transport('a-1').links()[0]).toMatchObject({ node: 'b-1', up: true, reconnects: 1 });
    });

    it('frames in flight are lost when a link drops, and what comes after is never repeated or reordered', async () => {
      await start('a-1', 'b-1');
      for (let n = 0; n < 1000; n++) send('a-1', 'b-1', n);
      cluster.cut('a-1', 'b-1');
      await until(() => a().turns('b-1').length === 2 && b().turns('a-1').length === 2, 'down');
      send('a-1', 'b-1', 1000, 1009);
      expect(cluster.transport('a-1').links()[0]?.dropped).toBe(10);
      cluster.heal('a-1', 'b-1');
      await linked();
      send('a-1', 'b-1', 2000, 2099);
      await until(() => b().pings('a-1').at(-1) === 2099, 'the last message');
      const before = b().pings('a-1').length - 100;
      expect(before).toBeLessThan(1000);
      expect(b().pings('a-1')).toEqual([...range(0, before - 1), ...range(2000, 2099)]);
    });

    it('a transport carries values of 1 MiB, as text and as bytes', async () => {
      await start('a-1', 'b-1');
      const values = ['é'.repeat(512 * 1024), Uint8Array.from({ length: 1024 * 1024 }, (_, i) => i % 251)];
      for (const each of values) cluster.transport('a-1').send('b-1', blob(each));
      await until(() => b().frames.length >= 2, 'two frames');
      const [text, bytes] = b().frames.map(({ envelopes: [first] }) => (first!.message as { value: Value }).value);
      expect(text === values[0]).toBe(true);
      expect(Buffer.compare(bytes as Uint8Array, values[1] as Uint8Array)).toBe(0);
    });

    it('a transport carries a burst of 20,000 frames', async () => {
      await start('a-1', 'b-1');
      for (let n = 0; n < 20_000; n++) send('a-1', 'b-1', n);
      await until(() => b().frames.length >= 20_000, '20,000 frames');
      expect(b().pings('a-1')).toEqual(range(0, 19_999));
    });

    it('a transport carries 100,000 messages handed over in one call', async () => {
      await start('a-1', 'b-1');
      send('a-1', 'b-1', 0, 99_999);
      await until(() => b().pings('a-1').length >= 100_000, '100,000 messages');
      expect(b().pings('a-1')).toEqual(range(0, 99_999));
    });

    it('a transport sends no frame for no messages', async () => {
      await start('a-1', 'b-1');
      cluster.transport('a-1').send('b-1', []);
      send('a-1', 'b-1', 1);
      await until(() => b().frames.length > 0, 'a frame');
      expect(b().frames).toHaveLength(1);
    });

    it('three nodes are linked with each other, and a cut between two leaves the other links alone', async () => {
      await start('a-1', 'b-1', 'c-1');
      cluster.cut('a-1', 'c-1');
      await until(() => !cluster.transport('c-1').linkUp('a-1') && !cluster.transport('a-1').linkUp('c-1'), 'down');
      for (const [from, to] of [
        ['a-1', 'b-1'],
        ['b-1', 'a-1'],
        ['b-1', 'c-1'],
        ['c-1', 'b-1'],
      ] as const) {
        send(from, to, 7);
      }
      await until(() => recorders.reduce((sum, { frames }) => sum + frames.length, 0) >= 4, 'four frames');
      expect([a().pings('b-1'), b().pings('a-1'), b().pings('c-1'), recorders[2]!.pings('b-1')]).toEqual([
        [7],
        [7],
        [7],
        [7],
      ]);
      expect(a().turns('b-1')).toEqual([true]);
    });

    it('a transport counts what goes over a link, the same at both ends', async () => {
      await start('a-1', 'b-1');
      send('a-1', 'b-1', 0, 9);
      send('a-1', 'b-1', 10);
      await until(() => b().frames.length >= 2, 'two frames');
      const [atA] = cluster.transport('a-1').links();
      const [atB] = cluster.transport('b-1').links();
      expect(atA?.sent).toMatchObject({ frames: 2, messages: 11 });
      expect(atA?.sent.bytes).toBeGreaterThan(100);
      expect(atB?.received).toEqual(atA?.sent);
      await until(() => typeof cluster.transport('a-1').links()[0]?.rttMs === 'number', 'a round trip');
    });

    it('the owner gets the bytes that each message took of a sent frame; the rest is the frame’s own', async () => {
      await start('a-1', 'b-1');
      const envelopes = [...pings('a-1', 'b-1', 1, 2), ...blob('x'.repeat(1000)), ...pings('a-1', 'b-1', 300, 300)];
      cluster.transport('a-1').send('b-1', envelopes);
      await until(() => b().frames.length > 0, 'a frame');
      const [{ to, frame }, ...others] = a().sent as [Recorder['sent'][0], ...Recorder['sent']];
      expect([to, frame.envelopes, others]).toEqual(['b-1', envelopes, []]);
      const [first, second, large, third] = frame.sizes as [number, number, number, number];
      expect([second, large, third]).toEqual([first, first - 1 + 1003, first + 2]);
      expect(frame.bytes.length - frame.sizes.reduce((sum, size) => sum + size, 0)).toBe(9 + 2);
      expect(cluster.transport('a-1').links()[0]?.sent.bytes).toBe(frame.bytes.length);
      cluster.cut('a-1', 'b-1');
      await until(() => a().turns('b-1').at(-1) === false, 'down');
      send('a-1', 'b-1', 1);
      expect(a().sent).toHaveLength(1);
    });

    it('a transport closes cleanly: peers see the link go down, the closed node receives nothing more', async () => {
      await start('a-1', 'b-1');
      await until(() => b().links.length === 1, 'up');
      send('b-1', 'a-1', 1);
      const observed = [a().frames.length, a().links.length];
      const closed = cluster.transport('a-1').close();
      send('b-1', 'a-1', 2);
      await closed;
      await until(() => b().turns('a-1').length === 2, 'down');
      expect(b().turns('a-1')).toEqual([true, false]);
      expect([a().frames.length, a().links.length]).toEqual(observed);
      expect(cluster.transport('a-1').linkUp('b-1')).toBe(false);
      await cluster.transport('a-1').close();
    });
  });
}
