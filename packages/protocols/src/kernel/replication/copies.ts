/** The source of a copy: the data that a replica sends to a node that has lost its disk (D10). */
import { contentLength, type PartitionId, type RegionId, type StoredVersion, type Timestamp } from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import type { NodeState } from '../node-state.js';
import type { CopiedVersion, CopyReq, ReadCopy, ReplicationMessage } from './messages.js';
import type { VersionVector } from './version-vector.js';

type Out = Effects<ReplicationMessage>;

export class Copies {
  constructor(
    readonly self: Address,
    readonly partition: PartitionId,
    readonly state: NodeState,
    readonly vv: VersionVector,
    /** How far an entry may be trusted (`PeerProgress`): a copy must not take a stream with a gap as a whole one. */
    readonly limitOf: (region: RegionId) => Timestamp | undefined,
  ) {}

  /** The vector is taken before the page is read. */
  onCopyReq(request: CopyReq, from: Address, out: Out): void {
    const { topology } = this.state;
    if (!topology.nodes.includes(from.node)) return;
    const region = topology.regionOf(from.node);
    if (!this.vv.has(region) || this.vv.durable(region) < request.clock) return;
    const vector = Object.entries(this.vv.durableEntries()).map(([r, ts]) => {
      return { region: r, ts: Math.min(ts, this.limitOf(r) ?? ts) };
    });
    out.send(this.self, { type: 'ReadCopy', node: from.node, request, vector });
  }

  onReadCopy({ node, request, vector }: ReadCopy, gcFloor: Timestamp, out: Out): void {
    const { ref, source, above } = request;
    const { chains, next } = this.state.reader.copy(this.partition, request.start);
    const wanted = (version: StoredVersion) => source === null || (version.region === source && version.ts > above);
    const versions = chains.flatMap(({ key, versions: all }) =>
      all.filter(wanted).map((version) => ({ key, version })),
    );
    const cut = pieces(versions);
    cut.forEach((part, i) => {
      out.send(
        { node, machine: 'rebuild' },
        { type: 'CopyResp', ref, part: i, parts: cut.length, versions: part, next, vector, gcFloor },
      );
    });
  }
}

/** Payload of one part of a copied page, in estimated bytes. */
const PART_BYTES = 512 * 1024;

/** Cuts versions into parts of bounded size, at least one. */
function pieces(versions: readonly CopiedVersion[]): CopiedVersion[][] {
  const parts: CopiedVersion[][] = [[]];
  let bytes = 0;
  for (const listed of versions) {
    if (bytes > PART_BYTES) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)!.push(listed);
    bytes += listed.key.length + contentLength(listed.version.value) + 64;
  }
  return parts;
}
