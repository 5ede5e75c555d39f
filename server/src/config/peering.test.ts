import { IsochronError } from '@isochron/core';
import { parseClusterFile } from './cluster-file.js';
import { type PeeringOptions, peeringOf } from './peering.js';

const FILE = `protocol: paris
regions:
  - id: virginia
    nodes: [{ id: virginia-1, api: "http://10.0.0.1:7101", peer: "ws://10.0.0.1:7201" }]
  - id: oregon
    nodes: [{ id: oregon-1, api: "http://10.0.0.2:7101", peer: "ws://10.0.0.2:7201" }]
  - id: ireland
    nodes: [{ id: ireland-1, api: "http://10.0.0.3:7101", peer: "ws://10.0.0.3:7201" }]
keyspaces: [{ name: default, partitions: 3, replication: 2 }]
`;
const config = parseClusterFile(FILE, 'cluster.yaml');

describe('addresses of the links between nodes', () => {
  it('the addresses of peering links are those of the cluster file by default', () => {
    expect(peeringOf(config, 'oregon-1')).toEqual({
      listen: { host: '10.0.0.2', port: 7201 },
      peers: [
        { node: 'virginia-1', url: 'ws://10.0.0.1:7201' },
        { node: 'ireland-1', url: 'ws://10.0.0.3:7201' },
      ],
    });
  });

  it('addresses that the operator gives replace those of the cluster file, and leave its hash unchanged', () => {
    const dial = { 'virginia-1': 'ws://[::1]:9000' };
    expect(peeringOf(config, 'oregon-1', { listen: '0.0.0.0:7301', dial })).toEqual({
      listen: { host: '0.0.0.0', port: 7301 },
      peers: [
        { node: 'virginia-1', url: 'ws://[::1]:9000' },
        { node: 'ireland-1', url: 'ws://10.0.0.3:7201' },
      ],
    });
    expect(parseClusterFile(FILE, 'cluster.yaml').hash).toBe(config.hash);
  });
});

const refusal = (options: PeeringOptions): string => {
  try {
    peeringOf(config, 'oregon-1', options);
  } catch (error) {
    if (error instanceof IsochronError && error.code === 'CONFIG_INVALID') return error.message;
    throw error;
  }
  throw new Error('the options were accepted');
};

describe('an address that cannot be meant is refused with the reason', () => {
  it.each(['', '7201', 'host', 'host:', ':7201', 'ws://host:7201', 'host:7201/path', 'a b:7201', 'host:123456'])(
    'a peer listen address is refused with the reason: %j',
    (listen) => {
      expect(refusal({ listen })).toBe(
        `the peer listen address is not valid: "${listen}"; expected host:port, such as 0.0.0.0:7201`,
      );
    },
  );

  it.each(['', 'host:7201', 'ws://host', 'wss://host', 'http://host:7201', 'ws://host:7201/a', 'ws://u@host:1'])(
    'an address to dial a peer at is refused with the reason: %j',
    (url) => {
      expect(refusal({ dial: { 'virginia-1': url } })).toBe(
        `the address to dial virginia-1 at is not valid: "${url}"; expected ws://host:port or wss://host:port, such as ws://10.0.0.7:7201`,
      );
    },
  );

  it('an address to dial has TLS where the links of the cluster file have it, and only there', () => {
    expect(refusal({ dial: { 'virginia-1': 'wss://host:7201' } })).toBe(
      'the address to dial virginia-1 at is wss://host:7201: it has to be ws://',
    );
  });

  it('a port above 65535 is refused with the reason', () => {
    expect(refusal({ listen: 'host:65536' })).toContain('ws://host:65536');
  });

  it('an address to dial is refused for an unknown node, the node itself, and a node that dials this one', () => {
    const url = 'ws://host:1';
    expect(refusal({ dial: { 'mumbai-1': url } })).toBe(
      'there is no node "mumbai-1" to dial; the cluster file has virginia-1, oregon-1, ireland-1',
    );
    expect(refusal({ dial: { 'oregon-1': url } })).toBe('oregon-1 does not dial itself');
    expect(refusal({ dial: { 'ireland-1': url } })).toBe(
      'oregon-1 does not dial ireland-1: of two nodes the one with the lower id dials',
    );
  });
});
