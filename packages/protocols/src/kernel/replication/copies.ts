/** The source of a copy: the data that a replica sends to a node that has lost its disk (D10). */
import {
  type Content,
  contentLength,
  type PartitionId,
  type QualifiedKey,
  type RegionId,
  type StoredVersion,
  type Timestamp,
} from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import type { NodeState } from '../node-state.js';
import type { CopiedVersion, CopyReq, ReadCopy, ReplicationMessage } from './messages.js';
import type { UnstableTx } from './unstable.js';
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
    /** The transactions above stable time; undefined while they are not known. */
    readonly unstable: () => readonly UnstableTx[] | undefined,
    /** Whether a version was taken back: a page may have been read before. */
    readonly isTakenBack: (version: StoredVersion) => boolean,
  ) {}

  /** The vector is taken before the page is read. */
  onCopyReq(request: CopyReq, from: Address, out: Out): void {
    const { topology } = this.state;
    if (!topology.nodes.includes(from.node) || this.unstable() === undefined) return;
    const region = topology.regionOf(from.node);
    if (!this.vv.has(region) || this.vv.durable(region) < request.clock) return;
    const vector = Object.entries(this.vv.durableEntries()).map(([r, ts]) => {
      return { region: r, ts: Math.min(ts, this.limitOf(r) ?? ts) };
    });
    out.send(this.self, { type: 'ReadCopy', node: from.node, request, vector });
  }

  onReadCopy({ node, request, vector }: ReadCopy, gcFloor: Timestamp, out: Out): void {
    const { ref, source, above } = request;
    const { topology } = this.state;
    const { version: map } = topology;
    const { chains, next } = this.state.reader.copy(this.partition, request.start);
    const isWanted = (of: RegionId) => source === null || of === source;
    const wanted = (version: StoredVersion) =>
      isWanted(version.region) && (source === null || version.ts > above) && !this.isTakenBack(version);
    const versions = chains.flatMap(({ key, versions: all }) =>
      all.filter(wanted).map((version) => ({ key, version, ...this.#attemptOf(version, topology.regionOf(node)) })),
    );
    const unstable = next === null ? (this.unstable() ?? []).filter(({ region }) => isWanted(region)) : [];
    const parts = [
      ...pieces(versions, bytesOf).map((part) => ({ versions: part })),
      ...pieces(unstable, ({ tx }) => tx.writes.reduce((sum, { key, value }) => sum + lengthOf(key, value), 0))
        .filter((part) => part.length > 0)
        .map((part) => ({ versions: [], unstable: part })),
    ];
    parts.forEach((part, i) => {
      out.send(
        { node, machine: 'rebuild' },
        {
          type: 'CopyResp',
          ref,
          part: i,
          parts: parts.length,
          ...part,
          next,
          vector,
          gcFloor,
          ...(map === 0 ? {} : { map }),
        },
      );
    });
  }

  /** The copying node writes a new log of its own transactions, of which the versions do not name the attempts. */
  #attemptOf({ region, txId, ts }: StoredVersion, copying: RegionId): Pick<CopiedVersion, 'attempt'> {
    const outcome = region === copying ? this.state.reader.outcome(this.partition, txId) : undefined;
    return outcome?.status === 'committed' && outcome.ts === ts ? { attempt: outcome.attempt } : {};
  }
}

/** Payload of one part of a copied page, in estimated bytes. */
const PART_BYTES = 512 * 1024;

const lengthOf = (key: QualifiedKey, value: Content): number => key.length + contentLength(value) + 64;
const bytesOf = ({ key, version }: CopiedVersion): number => lengthOf(key, version.value);

/** Cuts a list into parts of bounded size, at least one. */
function pieces<T>(items: readonly T[], bytesIn: (item: T) => number): T[][] {
  const parts: T[][] = [[]];
  let bytes = 0;
  for (const item of items) {
    if (bytes > PART_BYTES) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)!.push(item);
    bytes += bytesIn(item);
  }
  return parts;
}
