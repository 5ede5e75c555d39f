/**
 * The papers' experiments of interactive transactions: PaRiS, Wren and their baselines. Those of single operations are
 * in `operations.ts`.
 */
import type { ProtocolName } from '@isochron/protocols/session-rules';
import { READ_HEAVY, type TransactionMix, WRITE_HEAVY } from '@isochron/workload';
import type { Case, Experiment, System } from './experiment.js';
import { FIVE_REGIONS, FULL, FULL_FIVE, PARTIAL, PARTIAL_FIVE, WIDE_SKEWS_MS } from './layouts.js';
import { OPERATION_EXPERIMENTS } from './operations.js';

const system = (name: string, protocol: ProtocolName): System => ({ name, protocol });
const PARIS = system('PaRiS', 'paris');
const BPR = system('BPR', 'bpr');
const NOCC = system('NoCC', 'nocc');
const WREN = system('Wren', 'wren');
const CURE = system('Cure', 'cure');
const H_CURE = system('H-Cure', 'h-cure');

const transactions = (name: string, mix: TransactionMix): Case => ({ name, load: { kind: 'transactions', mix } });
/** A case that shows how the one before it changes: two points suffice. */
const variation = (name: string, mix: TransactionMix): Case => ({ ...transactions(name, mix), sessions: [24, 96] });

/** Wren's 90:10. */
const FEWER_READS: TransactionMix = { ...READ_HEAVY, reads: 18, writes: 2 };

export const PARIS_EXPERIMENTS: readonly Experiment[] = [
  {
    name: 'paris-vs-bpr',
    about: 'non-blocking reads against blocking ones, and against no causal consistency',
    figure: 'PaRiS, Fig. 2',
    systems: [PARIS, BPR, NOCC],
    layout: PARTIAL,
    cases: [transactions('95:5', READ_HEAVY), transactions('50:50', WRITE_HEAVY)],
    // A system that waits needs many sessions to use the machine as well as one that does not.
    sessions: [6, 24, 96, 192, 384, 768],
  },
  {
    name: 'paris-vs-bpr-5',
    about: 'the same with 5 regions, which are farther apart',
    figure: 'PaRiS, Fig. 2',
    systems: [PARIS, BPR, NOCC],
    layout: PARTIAL_FIVE,
    cases: [transactions('95:5', READ_HEAVY), transactions('50:50', WRITE_HEAVY)],
    sessions: [5, 25, 100, 400, 800],
  },
  {
    name: 'paris-visibility',
    about: 'how long updates take to be seen, 5 regions',
    figure: 'PaRiS, Fig. 5',
    systems: [PARIS, BPR],
    layout: PARTIAL_FIVE,
    cases: [transactions('95:5', READ_HEAVY)],
    sessions: [25],
    visibility: { case: '95:5', sessions: 25 },
  },
  {
    name: 'paris-locality',
    about: 'transactions that stay in the region, and those that do not; bytes of UST against those of replication',
    figure: 'PaRiS, Fig. 4 and 6',
    systems: [PARIS],
    // Two nodes in a region, so that stabilisation exchanges messages there.
    layout: { ...PARTIAL, nodesPerRegion: 2 },
    cases: [1, 0.95, 0.9, 0.5].map((localRatio) =>
      transactions(`${localRatio * 100}:${Math.round(100 - localRatio * 100)} local`, { ...READ_HEAVY, localRatio }),
    ),
    sessions: [24, 96, 192, 384],
  },
  {
    name: 'paris-capacity',
    about: 'keys that a region holds, with partial and with full replication',
    figure: 'PaRiS, section I',
    systems: [
      { name: 'partial', protocol: 'paris' },
      { name: 'full', protocol: 'paris', replication: FIVE_REGIONS.length },
    ],
    layout: PARTIAL_FIVE,
    cases: [],
    sessions: [],
  },
];

export const WREN_EXPERIMENTS: readonly Experiment[] = [
  {
    name: 'wren-vs-cure',
    about:
      'non-blocking reads against those that wait for clocks and pending transactions; bytes, and visibility of updates',
    figure: 'Wren, Fig. 3–5 and 7',
    systems: [WREN, CURE, H_CURE],
    layout: FULL,
    cases: [
      transactions('95:5', READ_HEAVY),
      variation('90:10', FEWER_READS),
      variation('50:50', WRITE_HEAVY),
      variation('95:5, 2 partitions', { ...READ_HEAVY, partitionsPerTx: 2 }),
      variation('95:5, 8 partitions', { ...READ_HEAVY, partitionsPerTx: 8 }),
    ],
    sessions: [6, 24, 48, 96, 192],
    visibility: { case: '95:5', sessions: 48 },
  },
  {
    name: 'wren-vs-cure-skew',
    about: 'the same with clocks that nobody keeps together',
    figure: 'Wren, Fig. 3a',
    systems: [WREN, CURE],
    layout: { ...FULL, skewsMs: WIDE_SKEWS_MS },
    cases: [transactions('95:5', READ_HEAVY)],
    sessions: [24, 96, 192],
  },
  {
    name: 'wren-bytes-5',
    about: 'bytes of replication and stabilisation, 5 regions',
    figure: 'Wren, Fig. 7a',
    systems: [WREN, CURE],
    layout: FULL_FIVE,
    cases: [transactions('95:5', READ_HEAVY)],
    sessions: [95],
  },
];

/** All of them, in the order in which they run. */
export const EXPERIMENTS: readonly Experiment[] = [...PARIS_EXPERIMENTS, ...WREN_EXPERIMENTS, ...OPERATION_EXPERIMENTS];
