import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packWall, Topology } from '@isochron/core';
import { type Address, type TransactionMessage, transactionSchema } from '@isochron/protocols';
import { WebSocketTransport } from '@isochron/transport';
import { FrameCodec } from '@isochron/wire';
import { pino } from 'pino';
import { clusterSpec, parseClusterFile } from '../config/cluster-file.js';
import { openNode } from './open.js';

const SECRET = 'a secret for tests only';
const NODES = ['a-1', 'b-1', 'c-1'];
const CONFIG = parseClusterFile(
  `
protocol: paris
cluster: testing
regions:
  - id: here
    nodes:
${NODES.map((id, i) => `      - { id: ${id}, api: "http://127.0.0.1:${i + 1}", peer: "ws://127.0.0.1:${i + 11}" }`).join('\n')}
keyspaces:
  - { name: default, partitions: 6, replication: 1 }
`,
  'cluster.yaml',
);
const topology = Topology.of(clusterSpec(CONFIG));
const partitionOf = (node: string) => topology.partitionsOn(node)[0]!;

/** A peer whose machines are the test: it answers a node that starts, and keeps all other messages. */
async function openPeer(self: string) {
  const received: TransactionMessage[] = [];
  const transport = await WebSocketTransport.open<TransactionMessage>({
    self,
    peers: NODES.filter((node) => node !== self).map((node) => ({ node, url: 'ws://127.0.0.1:1' })),
    listen: { host: '127.0.0.1', port: 0 },
    secret: SECRET,
    clusterHash: CONFIG.hash,
    storeId: self,
    codec: new FrameCodec(transactionSchema),
    hlc: () => packWall(Date.now()),
    events: {
      link: () => undefined,
      frame: (_from, _hlc, envelopes) => {
        for (const { from, to, message } of envelopes) {
          received.push(message);
          const joined = { joined: false, retiring: false, setAside: false, ust: 0, clocks: [] };
          if (message.type === 'JoinReq') send(from, { type: 'JoinResp', ...joined }, to.machine);
        }
      },
    },
  });
  const send = (to: Address, message: TransactionMessage, machine = 'coordinator') =>
    transport.send(to.node, [{ from: { node: self, machine }, to, message }]);
  return { transport, received, send };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

it('a decision about the prepare of another coordinator is ignored, counted and logged with its sender', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'outsiders-'));
  const lines: Record<string, unknown>[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const [coordinator, outsider] = [await openPeer('b-1'), await openPeer('c-1')];
  const peers = [coordinator, outsider].map(({ transport }, i) => ({
    node: NODES[i + 1]!,
    url: `ws://127.0.0.1:${transport.port}`,
  }));
  const node = await openNode({
    config: CONFIG,
    node: 'a-1',
    dataDir,
    secret: SECRET,
    peering: { listen: { host: '127.0.0.1', port: 0 }, peers },
    logger,
    onFailure: (error) => {
      throw error;
    },
  });
  try {
    const [partition, other] = [partitionOf('a-1'), partitionOf('b-1')];
    const to = { node: 'a-1', machine: `replica/${partition}` };
    const txId = 'abcdefghijklmnopqrstuv.0';
    const identity = { txId, attempt: 0, home: 'here', map: 0, cohorts: [partition, other].sort((a, b) => a - b) };
    const times = { ust: 0, ht: 0, sentAfter: 0, principal: 'anonymous' };
    let i = 0;
    while (topology.partitionOf(`default/k${i}`) !== partition) i++;
    const writes = [{ key: `default/k${i}`, value: '1' }];
    const prepared = () => coordinator.received.find(({ type }) => type === 'PrepareResp');
    while (prepared() === undefined) {
      coordinator.send(to, { type: 'PrepareReq', partition, identity, ...times, writes });
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const { pt } = prepared() as { pt: number } & TransactionMessage;
    const outsiders = () => node.status().counters.outsiders;
    outsider.send(to, { type: 'AbortTx', partition, txId, attempt: 0 });
    outsider.send(to, { type: 'CommitTx', partition, txId, attempt: 0, ct: pt + 7 });
    await until(() => outsiders() === 2);
    expect(lines.filter(({ from }) => from === 'c-1')).toMatchObject([
      { from: 'c-1', type: 'AbortTx', transaction: txId, partition, count: 1 },
    ]);
    expect(node.status().counters.aborts).toBe(0);
    coordinator.send(to, { type: 'CommitTx', partition, txId, attempt: 0, ct: pt });
    await until(() => node.status().counters.commits === 1);
    expect(outsiders()).toBe(2);
    // It may not speak for a replica of another node at all: that ends its link.
    outsider.send(
      { node: 'a-1', machine: 'coordinator' },
      {
        type: 'ResolveResp',
        txId,
        attempt: 0,
        partition: other,
        state: 'aborted',
        ts: 0,
      },
    );
    await until(
      () => lines.some(({ msg }) => String(msg).includes('holds no replica')) || !outsider.transport.linkUp('a-1'),
    );
  } finally {
    await node.close();
    for (const { transport } of [coordinator, outsider]) await transport.close();
    rmSync(dataDir, { recursive: true });
  }
}, 20_000);
