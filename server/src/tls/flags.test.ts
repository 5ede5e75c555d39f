import { IsochronError } from '@isochron/core';
import { TestAuthority } from '../../testing/certificates.js';
import { type ClusterConfig, parseClusterFile } from '../config/cluster-file.js';
import { loadCertificates, type TlsFlags } from './flags.js';

const file = (api: string, peer: string): ClusterConfig =>
  parseClusterFile(
    `protocol: paris
cluster: shop
regions: [{ id: a, nodes: [{ id: a-1, api: "${api}://10.0.0.1:7101", peer: "${peer}://10.0.0.1:7201" }] }]
keyspaces: [{ name: default, partitions: 3, replication: 1 }]
`,
    'cluster.yaml',
  );

let authority: TestAuthority;
let flags: Required<TlsFlags>;
beforeAll(async () => {
  authority = await TestAuthority.make();
  const api = await authority.issue('api');
  const peer = await authority.issue('peer', { uris: ['isochron://shop/node/a-1'], client: true });
  flags = {
    tlsCert: api.cert,
    tlsKey: api.key,
    peerCert: peer.cert,
    peerKey: peer.key,
    peerCa: authority.folder.authorityFile,
  };
});
afterAll(() => authority.dispose());

const load = (config: ClusterConfig, given: TlsFlags, proxied = false) =>
  loadCertificates(config, 'a-1', given, proxied, {} as never);

function refusal(config: ClusterConfig, given: TlsFlags): string {
  try {
    load(config, given);
  } catch (error) {
    if (error instanceof IsochronError) return `${error.code}: ${error.message}`;
    throw error;
  }
  throw new Error('the options were accepted');
}

describe('certificates of a node', () => {
  it('a node has the certificates that its options name, and none without', () => {
    expect(load(file('https', 'wss'), flags)).toMatchObject({ api: { use: 'api' }, peer: { use: 'peer' } });
    expect(load(file('http', 'ws'), {})).toEqual({ api: undefined, peer: undefined });
  });

  it('an https URL needs no certificate where a proxy ends TLS', () => {
    expect(load(file('https', 'ws'), {}, true)).toEqual({ api: undefined, peer: undefined });
  });

  it('options of certificates that belong together are refused alone', () => {
    const { tlsCert, peerCa } = flags;
    expect(refusal(file('https', 'ws'), { tlsCert })).toBe(
      'CONFIG_INVALID: with --tls-cert, --tls-key must be given, too',
    );
    expect(refusal(file('http', 'wss'), { peerCa })).toBe(
      'CONFIG_INVALID: with --peer-ca, --peer-cert and --peer-key must be given, too',
    );
  });

  it('URLs of the cluster file that do not agree with the certificates are refused with the remedy', () => {
    const { tlsCert, tlsKey, ...peer } = flags;
    const where = (what: string, url: string) =>
      `CONFIG_INVALID: the ${what} URL of a-1 in the cluster file is ${url}: `;
    expect([
      refusal(file('https', 'ws'), {}),
      refusal(file('http', 'ws'), { tlsCert, tlsKey }),
      refusal(file('http', 'wss'), {}),
      refusal(file('http', 'ws'), peer),
    ]).toEqual([
      `${where('api', 'https://10.0.0.1:7101')}give --tls-cert and --tls-key, or --insecure api where a proxy ends TLS`,
      `${where('api', 'http://10.0.0.1:7101')}with --tls-cert and --tls-key it has to be https`,
      `${where('peer', 'wss://10.0.0.1:7201')}give --peer-cert, --peer-key and --peer-ca`,
      `${where('peer', 'ws://10.0.0.1:7201')}with --peer-cert, --peer-key and --peer-ca it has to be wss`,
    ]);
  });

  it('a node does not start with the certificate of another node', async () => {
    const { cert, key } = await authority.issue('other', { uris: ['isochron://shop/node/b-1'], client: true });
    expect(refusal(file('https', 'wss'), { ...flags, peerCert: cert, peerKey: key })).toMatch(
      /^CERTIFICATE_INVALID: .* names isochron:\/\/shop\/node\/b-1, and has to name isochron:\/\/shop\/node\/a-1$/,
    );
  });
});
