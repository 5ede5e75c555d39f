/**
 * The claims of the papers that the report is about, as data. Those on single operations are in `operation-claims.ts`.
 */
import type { Claim, Place, Quantity, Rule } from './claim.js';
import type { Statistic } from './curve.js';
import { OPERATION_CLAIMS } from './operation-claims.js';

const latency = (statistic: Statistic): Quantity => ({ is: 'latency', statistic });
const MEAN = latency('meanMs');
const THROUGHPUT: Quantity = { is: 'throughput' };
const at = (system: string, inCase: string): Place => ({ system, case: inCase });

/** The latency of `of` over that of `to`, at the same throughput with the greatest difference. */
const slower = (of: string, to: string, inCase: string, statistic: Statistic = 'meanMs'): Rule => ({
  kind: 'curves',
  quantity: latency(statistic),
  of: at(of, inCase),
  to: at(to, inCase),
  at: 'throughput',
});
/** The highest throughput of `of` over that of `to`. */
const faster = (of: string, to: string, inCase: string): Rule => ({
  kind: 'curves',
  quantity: THROUGHPUT,
  of: at(of, inCase),
  to: at(to, inCase),
  at: 'peak',
});
const measure = (name: string, of: Place, to?: Place): Rule => ({
  kind: 'curves',
  quantity: { is: 'measure', name },
  of,
  ...(to === undefined ? { at: 'peak' } : { to, at: 'sessions' }),
});
const atLeast = (value: number): Claim['bound'] & object => ({ is: 'at least', value });
const atMost = (value: number): Claim['bound'] & object => ({ is: 'at most', value });

const MIXES = [
  { name: '95:5', heavy: 'read-heavy' },
  { name: '50:50', heavy: 'write-heavy' },
] as const;

const MEAN_FOUND =
  'one transaction in twenty crosses regions and takes hundreds of ms under either protocol: that is half or more of the mean of PaRiS, and none of its median';
const WAITING_FOUND =
  'a waiting read costs a timer and no thread, so BPR comes close to PaRiS once there are sessions enough; with 5 regions its waits are longer and it does not';

/** The paper's figures of a mix, and our bounds. */
const PARIS_FIGURES = {
  '95:5': {
    latency: { paper: 'up to 5.91×', bound: atLeast(5.9), found: MEAN_FOUND },
    throughput: { paper: 'up to 1.47×', bound: atLeast(1.4), found: WAITING_FOUND },
    ofNocc: { paper: 'NoCC up to 1.24× higher (0.81×)', bound: atLeast(0.8) },
    blocked: '29 ms at the top throughput',
  },
  '50:50': {
    latency: { paper: 'up to 20.56×', bound: atLeast(20), found: MEAN_FOUND },
    throughput: { paper: 'up to 1.46×', bound: atLeast(1.4), found: WAITING_FOUND },
    ofNocc: { paper: 'NoCC up to 1.59× higher (0.63×)', bound: atLeast(0.63) },
    blocked: '41 ms at the top throughput',
  },
} as const;

/** Of an experiment of PaRiS, BPR and NoCC. */
const nonBlockingReads = (experiment: string, regions: number): Claim[] => [
  ...MIXES.flatMap(({ name, heavy }): Claim[] => {
    const { latency, throughput, ofNocc, blocked } = PARIS_FIGURES[name];
    const of = (claim: string): { experiment: string; claim: string } => ({
      experiment,
      claim: `${claim}, ${heavy}, ${regions} regions`,
    });
    return [
      { ...of('latency of BPR over PaRiS'), ...latency, rule: slower('BPR', 'PaRiS', name), unit: '×' },
      {
        ...of('median latency of BPR over PaRiS'),
        paper: 'not shown',
        rule: slower('BPR', 'PaRiS', name, 'p50Ms'),
        unit: '×',
      },
      { ...of('throughput of PaRiS over BPR'), ...throughput, rule: faster('PaRiS', 'BPR', name), unit: '×' },
      { ...of('throughput of PaRiS over NoCC'), ...ofNocc, rule: faster('PaRiS', 'NoCC', name), unit: '×' },
      {
        ...of('mean time that a blocked read of BPR waits'),
        paper: blocked,
        rule: measure('mean block', at('BPR', name)),
        unit: 'ms',
      },
    ];
  }),
  {
    experiment,
    claim: `blocked reads of PaRiS, ${regions} regions`,
    paper: 'none',
    rule: measure('blocked reads', at('PaRiS', '95:5')),
    unit: 'per operation',
    bound: atMost(0),
  },
];

const PARIS_CLAIMS: readonly Claim[] = [
  ...nonBlockingReads('paris-vs-bpr', 3),
  ...nonBlockingReads('paris-vs-bpr-5', 5),
  {
    experiment: 'paris-visibility',
    claim: 'updates become visible in other regions later in PaRiS than in BPR',
    paper: 'about 200 ms later at worst (5 regions)',
    rule: { kind: 'visibility', of: 'PaRiS', to: 'BPR', readers: 'remote', share: 0.99, as: 'difference' },
    unit: 'ms',
  },
  {
    experiment: 'paris-locality',
    claim: 'throughput with 50:50 locality over that with 100:0',
    paper: '0.84× (300 and 350 kTx/s)',
    rule: {
      kind: 'curves',
      quantity: THROUGHPUT,
      of: at('PaRiS', '50:50 local'),
      to: at('PaRiS', '100:0 local'),
      at: 'peak',
    },
    unit: '×',
  },
  {
    experiment: 'paris-locality',
    claim: 'latency with 50:50 locality over that with 100:0',
    paper: '19× (150 and 8 ms)',
    rule: {
      kind: 'curves',
      quantity: MEAN,
      of: at('PaRiS', '50:50 local'),
      to: at('PaRiS', '100:0 local'),
      at: 'peak',
    },
    unit: '×',
  },
  ...['replication share', 'stabilisation share in regions', 'stabilisation share between regions'].map(
    (name, i): Claim => ({
      experiment: 'paris-locality',
      claim: `${name} of the bytes of both, 95:5 local`,
      paper: ['64–72 %', '26–34 %', '2 %'][i]!,
      rule: measure(name, at('PaRiS', '95:5 local')),
      unit: '%',
    }),
  ),
  {
    experiment: 'paris-capacity',
    claim: 'keys that a region holds, partial over full replication (R = 2, 5 regions)',
    paper: 'R ÷ M = 0.4×',
    rule: { kind: 'keys held', of: 'partial', to: 'full' },
    unit: '×',
    bound: atMost(0.4),
  },
];

const STABILISATION_FOUND =
  'addresses and the universal stable time, which every protocol here carries for garbage collection and recovery, are 57 bytes of each message in a region, and all of one between roots: without them it is 19 bytes for Wren and 46 for Cure, 0.41×';

const WREN_CLAIMS: readonly Claim[] = [
  {
    experiment: 'wren-vs-cure',
    claim: 'latency of Cure over Wren, 95:5, with clock skew',
    paper: 'up to 2.33×',
    rule: slower('Cure', 'Wren', '95:5'),
    unit: '×',
    bound: atLeast(2),
  },
  {
    experiment: 'wren-vs-cure-skew',
    claim: 'latency of Cure over Wren, 95:5, with clocks up to 38 ms apart',
    paper: 'up to 2.33×, with NTP',
    rule: slower('Cure', 'Wren', '95:5'),
    unit: '×',
    bound: atLeast(2),
    found:
      'reads of Cure wait some 20 ms, but one behind the other on two cores both take twice as long before that: the wait is hidden in the queue',
  },
  {
    experiment: 'wren-vs-cure',
    claim: 'throughput of Wren over Cure, 95:5',
    paper: 'up to 1.25×',
    rule: faster('Wren', 'Cure', '95:5'),
    unit: '×',
  },
  {
    experiment: 'wren-vs-cure',
    claim: 'latency of H-Cure over Wren, 95:5',
    paper: 'up to 1.67× (40 % lower)',
    rule: slower('H-Cure', 'Wren', '95:5'),
    unit: '×',
  },
  {
    experiment: 'wren-vs-cure',
    claim: 'throughput of Wren over H-Cure, 95:5',
    paper: 'up to 1.15×',
    rule: faster('Wren', 'H-Cure', '95:5'),
    unit: '×',
  },
  ...['90:10', '50:50', '95:5, 2 partitions', '95:5, 8 partitions'].map(
    (name): Claim => ({
      experiment: 'wren-vs-cure',
      claim: `latency of Cure over Wren, ${name}`,
      paper: 'up to 3.6×',
      rule: slower('Cure', 'Wren', name),
      unit: '×',
    }),
  ),
  {
    experiment: 'wren-vs-cure',
    claim: 'mean time that a blocked read of Cure waits',
    paper: '2 ms at low load, almost 4 ms at high load',
    rule: measure('mean block', at('Cure', '95:5')),
    unit: 'ms',
  },
  {
    experiment: 'wren-vs-cure',
    claim: 'blocked reads of Wren',
    paper: 'none',
    rule: measure('blocked reads', at('Wren', '95:5')),
    unit: 'per operation',
    bound: atMost(0),
  },
  {
    experiment: 'wren-vs-cure',
    claim: 'time until updates are visible in other regions, Wren over Cure',
    paper: '1.15× (68 and 59 ms at worst)',
    rule: { kind: 'visibility', of: 'Wren', to: 'Cure', readers: 'remote', share: 0.99, as: 'ratio' },
    unit: '×',
  },
  {
    experiment: 'wren-vs-cure',
    claim: 'time until updates are visible in their own region, Wren',
    paper: 'a few ms; at once in Cure',
    rule: { kind: 'visibility', of: 'Wren', readers: 'local', share: 0.5, as: 'ratio' },
    unit: 'ms',
  },
  ...[3, 5].flatMap((regions): Claim[] => {
    const five = regions === 5;
    const experiment = five ? 'wren-bytes-5' : 'wren-vs-cure';
    return [
      {
        experiment,
        claim: `stabilisation bytes of Wren over Cure, ${regions} regions`,
        paper: five ? '0.40× (up to 60 % fewer)' : 'fewer (Fig. 7a)',
        rule: measure('stabilisation bytes', at('Wren', '95:5'), at('Cure', '95:5')),
        unit: '×',
        ...(five && { bound: atMost(0.4), found: STABILISATION_FOUND }),
      },
      {
        experiment,
        claim: `replication bytes of Wren over Cure, ${regions} regions`,
        paper: five ? '0.63× (up to 37 % fewer)' : 'fewer (Fig. 7a)',
        rule: measure('replication bytes', at('Wren', '95:5'), at('Cure', '95:5')),
        unit: '×',
      },
    ];
  }),
];

/** In the order of the table. */
export const CLAIMS: readonly Claim[] = [...PARIS_CLAIMS, ...WREN_CLAIMS, ...OPERATION_CLAIMS];
