import { Topology } from '@isochron/core';
import { isProtocolName, PROTOCOL_NAMES, type ProtocolName } from '@isochron/protocols/session-rules';
import { servedProtocol } from '../node/protocols.js';
import type { ClusterFile } from './schema.js';
import type { Refuse } from './yaml-file.js';

/** Checks that a shape cannot express: unique ids, valid references, a possible placement. Returns the protocol. */
export function checkMeaning(file: ClusterFile, refuse: Refuse): ProtocolName {
  const { protocol } = file;
  if (!isProtocolName(protocol)) {
    return refuse(['protocol'], `unknown protocol "${protocol}"; known: ${PROTOCOL_NAMES.join(', ')}`);
  }
  checkNames(file, refuse);
  checkUrls(file, refuse);
  for (let i = 0; i < file.keyspaces.length; i++) checkPlacement(file, i, refuse);
  for (let i = 0; i < file.keyspaces.length; i++) checkSupport(file, i, protocol, refuse);
  checkLimits(file, refuse);
  for (const pair of Object.keys(file.wan?.oneWayMs ?? {})) checkPair(file, pair, refuse);
  return protocol;
}

function checkNames(file: ClusterFile, refuse: Refuse): void {
  const regions = unique('region id', refuse);
  const nodes = unique('node id', refuse);
  const keyspaces = unique('keyspace', refuse);
  file.regions.forEach((region, r) => {
    regions(region.id, ['regions', r, 'id']);
    region.nodes.forEach((node, n) => {
      nodes(node.id, ['regions', r, 'nodes', n, 'id']);
    });
  });
  file.keyspaces.forEach((keyspace, k) => {
    keyspaces(keyspace.name, ['keyspaces', k, 'name']);
  });
}

function unique(what: string, refuse: Refuse): (value: string, path: readonly (string | number)[]) => void {
  const seen = new Set<string>();
  return (value, path) => {
    if (seen.has(value)) refuse(path, `duplicate ${what} "${value}"`);
    seen.add(value);
  };
}

function checkUrls(file: ClusterFile, refuse: Refuse): void {
  const address = unique('address', refuse);
  file.regions.forEach((region, r) => {
    region.nodes.forEach((node, n) => {
      const at = ['regions', r, 'nodes', n];
      address(checkUrl(node.api, 'http', [...at, 'api'], refuse), [...at, 'api']);
      address(checkUrl(node.peer, 'ws', [...at, 'peer'], refuse), [...at, 'peer']);
    });
  });
  checkSchemes(file, refuse);
}

/** A node with certificates links to no node without: all links have them, or none. */
function checkSchemes(file: ClusterFile, refuse: Refuse): void {
  const first = file.regions[0]!.nodes[0]!.peer;
  const schemeOf = (url: string): string => new URL(url).protocol;
  file.regions.forEach((region, r) => {
    region.nodes.forEach(({ peer }, n) => {
      if (schemeOf(peer) === schemeOf(first)) return;
      refuse(
        ['regions', r, 'nodes', n, 'peer'],
        `"${peer}": the peer URLs of all nodes must be ws, or all must be wss`,
      );
    });
  });
}

/** Returns `host:port`, which no two listeners may share. */
function checkUrl(text: string, scheme: string, path: readonly (string | number)[], refuse: Refuse): string {
  if (!URL.canParse(text)) return refuse(path, `"${text}" is not a URL; expected ${scheme}://host:port`);
  const url = new URL(text);
  const isSecure = url.protocol === `${scheme}s:`;
  if (!isSecure && url.protocol !== `${scheme}:`) return refuse(path, `"${text}" must be ${scheme} or ${scheme}s`);
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '') {
    return refuse(path, `"${text}" must be ${url.protocol}//host:port and nothing more`);
  }
  return `${url.hostname}:${url.port === '' ? (isSecure ? '443' : '80') : url.port}`;
}

function checkPlacement(file: ClusterFile, index: number, refuse: Refuse): void {
  const { name, replication, regions } = file.keyspaces[index]!;
  const at = ['keyspaces', index];
  if (regions === undefined) {
    if ((replication ?? 1) > file.regions.length) {
      refuse(
        [...at, 'replication'],
        `keyspace "${name}": replication ${replication} is above the number of regions, ${file.regions.length}`,
      );
    }
    return;
  }
  if (replication !== undefined) {
    refuse([...at, 'replication'], `keyspace "${name}": give either replication or regions, not both`);
  }
  const once = unique(`region in keyspace "${name}"`, refuse);
  regions.forEach((region, r) => {
    once(region, [...at, 'regions', r]);
    knownRegion(file, region, [...at, 'regions', r], refuse);
  });
}

/** The protocol must be able to serve the keyspace where the file places it. */
function checkSupport(file: ClusterFile, index: number, protocol: ProtocolName, refuse: Refuse): void {
  const keyspace = file.keyspaces[index]!;
  const reason = servedProtocol(protocol).unsupported(Topology.of({ regions: file.regions, keyspaces: [keyspace] }));
  if (reason !== undefined) refuse(['keyspaces', index], `protocol "${protocol}": ${reason}`);
}

function knownRegion(file: ClusterFile, region: string, path: readonly (string | number)[], refuse: Refuse): void {
  if (file.regions.some(({ id }) => id === region)) return;
  refuse(path, `unknown region "${region}"; known: ${file.regions.map(({ id }) => id).join(', ')}`);
}

function checkLimits(file: ClusterFile, refuse: Refuse): void {
  const limits = file.settings?.limits;
  if (limits?.maxRequestBytes === undefined && limits?.maxValueBytes === undefined) return;
  const request = limits.maxRequestBytes ?? 8 * 2 ** 20;
  const value = limits.maxValueBytes ?? 2 ** 20;
  if (value > request) {
    refuse(
      ['settings', 'limits'],
      `maxValueBytes ${value} is above maxRequestBytes ${request}: no request could hold it`,
    );
  }
}

function checkPair(file: ClusterFile, pair: string, refuse: Refuse): void {
  const path = ['wan', 'oneWayMs', pair];
  const ends = pair.split(/<?>/);
  if (ends.length !== 2)
    refuse(path, `"${pair}" is not a pair of regions; write "a>b" for one direction, "a<>b" for both`);
  for (const region of ends) knownRegion(file, region, path, refuse);
}
