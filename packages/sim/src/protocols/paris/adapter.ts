/** PaRiS in the simulator. */
import { IsochronError, type Random } from '@isochron/core';
import {
  createParisNode,
  DEFAULT_PARIS_SETTINGS,
  lacksData,
  type ParisMessage,
  type ParisSettings,
  parisSchema,
  unappliedAfter,
} from '@isochron/protocols';
import { integer, logBetween, rounded } from '../../engine/draws.js';
import type { NodeOptions, ProtocolAdapter, ProtocolNode, Settings } from '../adapter.js';
import { answering, said } from './observe.js';
import { SimParisSession } from './session.js';

export const paris: ProtocolAdapter<ParisMessage> = {
  name: 'paris',
  schema: parisSchema,
  crashPoints: [
    'CommitReq',
    'PrepareReq',
    'PrepareResp',
    'PrepareRefused',
    'CommitTx',
    'AbortTx',
    'ResolveReq',
    'ResolveResp',
    'CommitResp',
    'Replicate',
    'ResyncReq',
    'GossipUp',
    'GossipRoot',
    'GossipDown',
  ],
  drawSettings,
  createNode,
  founding: [{ kind: 'meta', name: 'joined', value: 1 }],
  lacksData,
  // A read in one round trip is in no table of open transactions: versions must be kept for as long as it takes. And cohorts that ask
  // for an outcome before the slowest prepare can have arrived abort every commit.
  servesAgain: ({ maxClockDriftMs = 0, retentionMs = 0, resolveAfterMs = 0 }, slowestMs) =>
    maxClockDriftMs >= DEFAULT_PARIS_SETTINGS.maxClockDriftMs &&
    retentionMs >= MIN_RETENTION_MS &&
    resolveAfterMs >= 100 + 8 * slowestMs,
  distrusts: (error) => error instanceof IsochronError && error.code === 'REBUILD_NEEDED',
  createSession: (id, io, state) => new SimParisSession(id, io, state),
  refOf: (message) => ('ref' in message ? message.ref : undefined),
  said,
  answering,
};

/** A retention below this is an experiment. */
const MIN_RETENTION_MS = 2_000;

/** Everything that a setting governs should happen in some runs: a lease that ends, a snapshot that is too old, a failover. */
function drawSettings(random: Random): Settings {
  const ms = (low: number, high: number): number => Math.round(logBetween(random, low, high));
  const roundMs = ms(5, 60);
  return {
    applyIntervalMs: roundMs,
    gossipIntervalMs: random.chance(0.7) ? roundMs : ms(5, 100),
    idleBackoff: rounded(random.chance(0.5) ? 1.7 : logBetween(random, 1, 20)),
    maxTransactionMs: ms(300, 8_000),
    retentionMs: random.chance(0.3) ? 0 : ms(50, 10_000),
    outcomeRetentionMs: random.chance(0.5) ? DEFAULT_PARIS_SETTINGS.outcomeRetentionMs : ms(100, 60_000),
    maxClockDriftMs: random.chance(0.8) ? DEFAULT_PARIS_SETTINGS.maxClockDriftMs : ms(500, 20_000),
    resolveAfterMs: ms(50, 3_000),
    readTimeoutMs: ms(50, 1_500),
    readDeadlineMs: ms(1_000, 8_000),
    commitTimeoutMs: ms(1_500, 8_000),
    snapshotWaitMs: ms(50, 2_000),
    treeFanOut: integer(random, 1, 4),
  } satisfies Partial<ParisSettings>;
}

function createNode(options: NodeOptions): ProtocolNode<ParisMessage> {
  const { node, topology, recovered, logAfter, diskIsFull } = options;
  const region = topology.regionOf(node);
  const unapplied = new Map(
    topology.partitionsOn(node).map((p) => [p, logAfter(p, unappliedAfter(recovered, p, region))] as const),
  );
  const settings = { ...DEFAULT_PARIS_SETTINGS, ...options.settings };
  const writable = () => (diskIsFull() ? 'STORAGE_FULL' : undefined);
  const paris = createParisNode({ ...options, epoch: 0, settings, unapplied, writable });
  return {
    machines: paris.machines,
    hlc: () => paris.clock.last,
    observe: (hlc) => paris.clock.observe(hlc),
    ready: () => paris.stabilization.spoken,
    ust: () => paris.stable.value,
    load: () => {
      const { table, reads, commits } = paris.coordinator;
      return { openTransactions: table.size, reads: reads.size, commits: commits.size };
    },
    backlog: () => {
      let prepared = 0;
      let committed = 0;
      for (const { cohort } of paris.replicas) {
        prepared += cohort.prepared.size;
        committed += cohort.committed.size;
      }
      return { prepared, committed };
    },
  };
}
