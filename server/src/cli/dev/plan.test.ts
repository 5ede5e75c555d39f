import { parseClusterFile, writeClusterFile } from '../../config/cluster-file.js';
import { cacheBytesOf } from '../../node/memory.js';
import { UsageError } from '../failures.js';
import { type DevOptions, devClusterFile, planNodes } from './plan.js';

const DEFAULTS: DevOptions = {
  regions: ['virginia', 'oregon', 'ireland'],
  nodesPerRegion: 1,
  partitions: 6,
  replication: 2,
  wan: 'none',
  protocol: 'paris',
  data: '/data',
  portBase: 7101,
  durability: 'synced',
  tls: false,
  keepConfig: false,
  logLevel: 'info',
  json: false,
};

const configOf = (options: Partial<DevOptions>) =>
  parseClusterFile(writeClusterFile(devClusterFile({ ...DEFAULTS, ...options })), 'cluster.yaml');

describe('the cluster file of isochron dev', () => {
  it('the cluster file of isochron dev has a node in each region, and every partition in two of them', () => {
    const { regions, keyspaces, settings, wan } = configOf({});
    expect(regions.map(({ id, nodes }) => [id, nodes[0]?.id, nodes[0]?.api, nodes[0]?.peer])).toEqual([
      ['virginia', 'virginia-1', 'http://127.0.0.1:7101', 'ws://127.0.0.1:7201'],
      ['oregon', 'oregon-1', 'http://127.0.0.1:7102', 'ws://127.0.0.1:7202'],
      ['ireland', 'ireland-1', 'http://127.0.0.1:7103', 'ws://127.0.0.1:7203'],
    ]);
    expect(keyspaces).toEqual([{ name: 'default', partitions: 6, replication: 2 }]);
    expect([settings.durability, wan.oneWayMs]).toEqual(['synced', {}]);
  });

  it('the nodes of isochron dev share the memory of the machine', () => {
    const memory = { machine: 12 * 2 ** 30, container: undefined };
    expect(cacheBytesOf(configOf({}), 'oregon-1', memory)).toBe(2 ** 30);
  });

  it('the cluster file of isochron dev has URLs with TLS, and each node its certificates, on request', () => {
    const config = configOf({ tls: true });
    const [node] = config.regions[0]!.nodes;
    expect([node!.api, node!.peer]).toEqual(['https://127.0.0.1:7101', 'wss://127.0.0.1:7201']);
    const [planned] = planNodes(config, DEFAULTS);
    expect([planned!.tls, planned!.ca]).toEqual([{ api: true, peer: true }, '/data/certs/ca.pem']);
  });

  it('the cluster file of isochron dev has the durability and the delays of the options', () => {
    const { settings, wan } = configOf({ durability: 'memory', wan: 'aws' });
    expect(settings.durability).toBe('memory');
    expect(wan.oneWayMs['virginia>ireland']).toBe(40.2);
  });

  it('the cluster file of isochron dev keeps its placement, and so its data, when only delays change', () => {
    expect(configOf({ wan: 'aws' }).cluster).toBe(configOf({}).cluster);
  });

  it('the cluster file of isochron dev is fully replicated by default where the protocol requires it', () => {
    const { replication: _given, ...rest } = DEFAULTS;
    const replicas = (options: Partial<DevOptions>) =>
      devClusterFile({ ...rest, ...options }).keyspaces[0]?.replication;
    expect([replicas({}), replicas({ protocol: 'bpr' }), replicas({ regions: ['oregon'] })]).toEqual([2, 2, 1]);
    expect([replicas({ protocol: 'wren' }), replicas({ protocol: 'h-cure' })]).toEqual([3, 3]);
    expect(() => configOf({ protocol: 'wren' })).toThrow(/^cluster\.yaml:\d+: protocol "wren": /);
  });

  it.each([
    { what: 'more replicas than regions', options: { regions: ['oregon'] } },
    { what: 'more nodes than ports', options: { nodesPerRegion: 50 } },
    { what: 'ports above 65535', options: { portBase: 65_400 } },
  ])('devClusterFile refuses $what', ({ options }) => {
    expect(() => devClusterFile({ ...DEFAULTS, ...options })).toThrow(UsageError);
  });
});

describe('planNodes', () => {
  it('planNodes gives every listener a port of its own, from the base on', () => {
    const options = { ...DEFAULTS, nodesPerRegion: 2, portBase: 9000 };
    const nodes = planNodes(devClusterFile(options), options);
    expect(nodes.map(({ id }) => id).slice(0, 3)).toEqual(['virginia-1', 'virginia-2', 'oregon-1']);
    expect(nodes[2]?.ports).toEqual([9002, 9102, 9202]);
    expect(new Set(nodes.flatMap(({ ports }) => ports)).size).toBe(18);
  });

  it('planNodes keeps data and log of a node in its own folder', () => {
    const [node] = planNodes(devClusterFile(DEFAULTS), DEFAULTS);
    expect([node?.dataDir, node?.logFile]).toEqual(['/data/virginia-1', '/data/virginia-1/node.log']);
  });
});
