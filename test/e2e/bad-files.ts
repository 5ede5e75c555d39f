/** Cluster files that must be refused, with the line and the reason. */
import { stringify } from 'yaml';

interface Node {
  id: string;
  api: string;
  peer: string;
}

/** A cluster file as plain data, to be corrupted. */
export interface PlainFile {
  [field: string]: unknown;
  regions: { id: string; nodes: Node[]; [field: string]: unknown }[];
  keyspaces: { name: string; partitions: number; replication?: number; regions?: string[] }[];
}

export interface BadFile {
  readonly name: string;
  /** The change to a good file; text replaces the file. */
  readonly spoil: (file: PlainFile) => unknown;
  /** The text of the message. */
  readonly reason: RegExp;
}

const node = (id: string, port: number): Node => ({
  id,
  api: `http://127.0.0.1:${port}`,
  peer: `ws://127.0.0.1:${port + 1}`,
});

const goodFile = (): PlainFile => ({
  protocol: 'paris',
  regions: [
    { id: 'virginia', nodes: [node('virginia-1', 4001)] },
    { id: 'oregon', nodes: [node('oregon-1', 4003)] },
  ],
  keyspaces: [{ name: 'default', partitions: 6, replication: 2 }],
});

/** The text of a corrupted file. */
export function badFileText({ spoil }: BadFile): string {
  const file = goodFile();
  const spoilt = spoil(file);
  return typeof spoilt === 'string' ? spoilt : stringify(file);
}

export const BAD_FILES: readonly BadFile[] = [
  {
    name: 'an unknown field',
    spoil: (file) => Object.assign(file, { colour: 'blue' }),
    reason: /unknown field "colour"/,
  },
  {
    name: 'an unknown field deep inside',
    spoil: (file) => Object.assign(file.regions[0]!.nodes[0]!, { zone: 'a' }),
    reason: /unknown field "zone"/,
  },
  {
    name: 'an unknown setting',
    spoil: (file) => Object.assign(file, { settings: { retention: 1 } }),
    reason: /unknown field "retention"/,
  },
  {
    name: 'two nodes with one id',
    spoil: (file) => Object.assign(file.regions[1]!.nodes[0]!, { id: 'virginia-1' }),
    reason: /duplicate node id "virginia-1"/,
  },
  {
    name: 'two regions with one id',
    spoil: (file) => Object.assign(file.regions[1]!, { id: 'virginia' }),
    reason: /duplicate region id "virginia"/,
  },
  {
    name: 'two keyspaces with one name',
    spoil: (file) => file.keyspaces.push({ name: 'default', partitions: 1 }),
    reason: /duplicate keyspace "default"/,
  },
  {
    name: 'two nodes at one address',
    spoil: (file) => Object.assign(file.regions[1]!.nodes[0]!, { api: 'http://127.0.0.1:4001' }),
    reason: /duplicate address "127.0.0.1:4001"/,
  },
  {
    name: 'a region without a node',
    spoil: (file) => Object.assign(file.regions[1]!, { nodes: [] }),
    reason: /at least one node/,
  },
  { name: 'no regions', spoil: (file) => Object.assign(file, { regions: [] }), reason: /1 to 64 regions/ },
  {
    name: 'a replication factor above the number of regions',
    spoil: (file) => Object.assign(file.keyspaces[0]!, { replication: 3 }),
    reason: /replication 3 is above the number of regions, 2/,
  },
  {
    name: 'a replication factor of 0',
    spoil: (file) => Object.assign(file.keyspaces[0]!, { replication: 0 }),
    reason: /"keyspaces.0.replication" is not valid/,
  },
  {
    name: 'a keyspace in an unknown region',
    spoil: (file) => file.keyspaces.push({ name: 'eu', partitions: 1, regions: ['atlantis'] }),
    reason: /unknown region "atlantis"/,
  },
  {
    name: 'an unknown protocol',
    spoil: (file) => Object.assign(file, { protocol: 'raft' }),
    reason: /unknown protocol/,
  },
  {
    name: 'partial replication under a protocol that replicates fully',
    spoil: (file) =>
      Object.assign(file, { protocol: 'wren', keyspaces: [{ name: 'eu', partitions: 1, replication: 1 }] }),
    reason: /protocol "wren": .* every region/,
  },
  {
    name: 'an address that is no URL',
    spoil: (file) => Object.assign(file.regions[0]!.nodes[0]!, { peer: 'localhost' }),
    reason: /is not a URL/,
  },
  {
    name: 'links with TLS beside links without',
    spoil: (file) => Object.assign(file.regions[1]!.nodes[0]!, { peer: 'wss://127.0.0.1:7999' }),
    reason: /must be ws, or all must be wss/,
  },
  { name: 'text that is no YAML', spoil: () => 'regions: [', reason: /:\d+: \S+/ },
  { name: 'an empty file', spoil: () => '', reason: /:\d+: \S+/ },
];
