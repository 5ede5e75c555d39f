/** The papers' claims on single operations: Okapi, Contrarian, Orbe. */
import type { Claim, Place, Quantity, Rule } from './claim.js';

const MANY_SESSIONS = 200;
const THROUGHPUT: Quantity = { is: 'throughput' };
const at = (system: string, inCase: string): Place => ({ system, case: inCase });
const atLeast = (value: number): Claim['bound'] & object => ({ is: 'at least', value });
const atMost = (value: number): Claim['bound'] & object => ({ is: 'at most', value });

/** The highest throughput of `of` over that of `to`. */
const faster = (of: string, to: string, inCase: string, minSessions = 0): Rule => ({
  kind: 'curves',
  quantity: THROUGHPUT,
  of: at(of, inCase),
  to: at(to, inCase),
  at: 'peak',
  minSessions,
});
/** The latency of reads of `of` over that of `to`, at the same throughput with the greatest difference. */
const slowerReads = (of: string, to: string, inCase: string, statistic: 'meanMs' | 'p95Ms' | 'p99Ms'): Rule => ({
  kind: 'curves',
  quantity: { is: 'latency', statistic, kind: 'read' },
  of: at(of, inCase),
  to: at(to, inCase),
  at: 'throughput',
});
/** At the point where it is greatest. */
const measure = (name: string, of: Place, to?: Place): Rule => ({
  kind: 'curves',
  quantity: { is: 'measure', name },
  of,
  ...(to && { to }),
  at: 'sessions',
});

/** Of Okapi against GentleRain. */
const farRegions = (experiment: string, regions: number): Claim => ({
  experiment,
  claim: `latency of read-only transactions, GentleRain over Okapi, ${regions} regions`,
  paper: 'up to two orders of magnitude',
  rule: slowerReads('GentleRain', 'Okapi', 'RO-TX of 4 + PUT', 'meanMs'),
  unit: '×',
  bound: atLeast(50),
  found: 'GentleRain waits for the farthest region, so the figure grows with its distance',
});
const OKAPI: readonly Omit<Claim, 'experiment'>[] = [
  {
    claim: 'latency of read-only transactions, Cure over Okapi',
    paper: 'up to 3.5× lower than Cure',
    rule: slowerReads('Cure', 'Okapi', 'RO-TX of 4 + PUT', 'meanMs'),
    unit: '×',
  },
  {
    claim: 'mean time that a blocked read of GentleRain waits',
    paper: 'mainly the way to the furthest data center',
    rule: measure('mean block', at('GentleRain', 'RO-TX of 4 + PUT')),
    unit: 'ms',
  },
  {
    claim: 'blocked reads of Okapi',
    paper: 'none',
    rule: measure('blocked reads', at('Okapi', 'RO-TX of 4 + PUT')),
    unit: 'per operation',
    bound: atMost(0),
  },
  {
    claim: 'blocked writes of Okapi',
    paper: 'none',
    rule: measure('blocked writes', at('Okapi', '1 GET : 1 PUT')),
    unit: 'per operation',
    bound: atMost(0),
  },
  {
    claim: 'metadata of an update, Okapi over Cure',
    paper: '0.43× (12 and 28 bytes, 3 regions)',
    rule: measure('metadata', at('Okapi', '8 GET : 1 PUT'), at('Cure', '8 GET : 1 PUT')),
    unit: '×',
    bound: atMost(0.45),
  },
  {
    claim: 'time until updates are visible in other regions, Okapi over Cure',
    paper: 'above 1× (Fig. 7a)',
    rule: { kind: 'visibility', of: 'Okapi', to: 'Cure', readers: 'remote', share: 0.5, as: 'ratio' },
    unit: '×',
  },
];
const OKAPI_CLAIMS: readonly Claim[] = [
  farRegions('okapi-vs-gentlerain', 3),
  farRegions('okapi-vs-gentlerain-5', 5),
  ...OKAPI.map((claim) => ({ experiment: 'okapi-vs-gentlerain', ...claim })),
];

const CHEAP_CHECKS_FOUND =
  'a readers check costs CC-LO messages between two or three nodes, not between 45 partitions on machines of their own, and messages of a tick share frames';

const CONTRARIAN_CLAIMS: readonly Claim[] = [
  ...[1, 3].flatMap((regions) => {
    const one = regions === 1;
    const figures = one ? ['2.33×', '3.7×', 'above 2.33×'] : ['above 2.33×', '5×', '3.2×'];
    return ['w = 0.01', 'w = 0.05', 'w = 0.1'].map(
      (name, i): Claim => ({
        experiment: `contrarian-vs-cclo-${regions}`,
        claim: `throughput of Contrarian over CC-LO, ${name}, ${regions} ${one ? 'region' : 'regions'}`,
        paper: figures[i]!,
        rule: faster('Contrarian', 'CC-LO', name, MANY_SESSIONS),
        unit: '×',
        bound: atLeast(2.3),
        found: CHEAP_CHECKS_FOUND,
      }),
    );
  }),
  ...(['p95Ms', 'p99Ms'] as const).map(
    (statistic): Claim => ({
      experiment: 'contrarian-vs-cclo-1',
      claim: `latency of read-only transactions, ${statistic.slice(0, 3)}, CC-LO over Contrarian`,
      paper:
        statistic === 'p95Ms'
          ? 'above 1× from 17 % of the load on (Fig. 4a)'
          : 'above 1× from 9 % of the load on (Fig. 4d)',
      rule: slowerReads('CC-LO', 'Contrarian', 'w = 0.05', statistic),
      unit: '×',
    }),
  ),
  {
    experiment: 'contrarian-vs-cclo-1',
    claim: 'ids of ROTs that a readers check collects, with the most clients',
    paper: '1023, of them 267 distinct, with 270 clients on 45 partitions; grows with the clients',
    rule: measure('ROT ids', at('CC-LO', 'w = 0.05')),
    unit: 'per readers check',
  },
];

const ORBE_CLAIMS: readonly Claim[] = [
  ...[
    ['1 % PUT', 'about the same'] as const,
    ['50 % PUT', 'in between'] as const,
    ['99 % PUT', '0.76× (about 24 % lower)'] as const,
  ].map(
    ([name, paper]): Claim => ({
      experiment: 'orbe-vs-eventual',
      claim: `throughput of Orbe over Eventual, ${name}`,
      paper,
      rule: faster('Orbe', 'Eventual', name),
      unit: '×',
      ...(name === '99 % PUT' && { bound: atLeast(0.75) }),
    }),
  ),
  ...['10 % PUT', '99 % PUT'].map(
    (name): Claim => ({
      experiment: 'orbe-vs-eventual',
      claim: `dependency checks of Orbe, ${name}`,
      paper: 'more, the more is read (Fig. 6)',
      rule: measure('dependency checks', at('Orbe', name)),
      unit: 'per update',
    }),
  ),
  ...[1, 10, 100].map(
    (pauseMs): Claim => ({
      experiment: 'orbe-vs-cops',
      claim: `throughput of Orbe over COPS-GT, ${pauseMs} ms between operations`,
      paper: pauseMs === 1 ? 'above 1× (Fig. 7)' : 'less so (Fig. 7)',
      rule: faster('Orbe', 'COPS-GT', `10 % PUT, ${pauseMs} ms between`),
      unit: '×',
      ...(pauseMs === 1 && { bound: atLeast(1) }),
    }),
  ),
  ...['Orbe', 'COPS-GT'].map(
    (system): Claim => ({
      experiment: 'orbe-vs-cops',
      claim: `what an update of ${system} depends on, 1 ms between operations`,
      paper: system === 'Orbe' ? 'non-zero elements: a few (Fig. 8)' : 'versions: hundreds (Fig. 8)',
      rule: measure('dependencies', at(system, '10 % PUT, 1 ms between')),
      unit: 'per update',
    }),
  ),
  {
    experiment: 'orbe-cleaning',
    claim: 'throughput with dependency cleaning over that without',
    paper: 'above 1× with 8 partitions (Fig. 11)',
    rule: faster('with cleaning', 'Orbe', '8 GET : 1 PUT'),
    unit: '×',
  },
  {
    experiment: 'orbe-cleaning',
    claim: 'metadata of an update, with cleaning over without',
    paper: 'below 1× (Fig. 12 and 13)',
    rule: measure('metadata', at('with cleaning', '8 GET : 1 PUT'), at('Orbe', '8 GET : 1 PUT')),
    unit: '×',
  },
];

export const OPERATION_CLAIMS: readonly Claim[] = [...OKAPI_CLAIMS, ...CONTRARIAN_CLAIMS, ...ORBE_CLAIMS];
