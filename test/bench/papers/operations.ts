/** The papers' experiments of single reads and writes and one-shot read-only transactions: Okapi, Contrarian, Orbe. */
import type { ProtocolName } from '@isochron/protocols/session-rules';
import { type OperationMix, shareOfWrites } from '@isochron/workload';
import type { Case, Experiment, System } from './experiment.js';
import { ALONE, FULL, FULL_FIVE_SINGLE, PAIR } from './layouts.js';

const system = (name: string, protocol: ProtocolName): System => ({ name, protocol });
const operations = (name: string, mix: OperationMix, pauseMs = 0): Case => ({
  name,
  load: { kind: 'operations', mix, pauseMs },
});

/** Read-only transactions and single writes in turn (Okapi, section 5.3). */
const readsThenWrite = (keysPerRead: number): Case =>
  operations(`RO-TX of ${keysPerRead} + PUT`, { keysPerRead, writes: 0.5, inTurn: true });
/** Single reads, then one write (Okapi, Fig. 6 and 7). */
const getsThenPut = (gets: number): Case =>
  operations(`${gets} GET : 1 PUT`, { keysPerRead: 1, writes: 1 / (gets + 1), inTurn: true });
/** Contrarian's `w`: writes among all keys read and written. */
const rots = (ratio: number): Case =>
  operations(`w = ${ratio}`, { keysPerRead: 4, writes: shareOfWrites(ratio, 4), inTurn: false });
const putsAndGets = (writes: number, pauseMs = 0): Case =>
  operations(
    `${Math.round(writes * 100)} % PUT${pauseMs === 0 ? '' : `, ${pauseMs} ms between`}`,
    { keysPerRead: 1, writes, inTurn: false },
    pauseMs,
  );

/** A case that shows how the one before it changes: two points suffice. */
const variation = (of: Case, sessions: readonly number[] = [24, 96]): Case => ({ ...of, sessions });

const OKAPI = [system('Okapi', 'okapi'), system('Cure', 'cure'), system('GentleRain', 'gentlerain')];
const CONTRARIAN = [system('Contrarian', 'contrarian'), system('CC-LO', 'cc-lo')];
const ORBE = system('Orbe', 'orbe');
/** Contrarian's figures are compared from 200 sessions on. */
const MANY_SESSIONS = 204;

export const OPERATION_EXPERIMENTS: readonly Experiment[] = [
  {
    name: 'okapi-vs-gentlerain',
    about: 'read-only transactions under clock skew; metadata, bytes of stabilisation, visibility of updates',
    figure: 'Okapi, Fig. 4–7',
    systems: OKAPI,
    layout: FULL,
    cases: [
      readsThenWrite(4),
      ...[1, 8].map((keys) => variation(readsThenWrite(keys))),
      ...[1, 8, 32].map((gets) => variation(getsThenPut(gets), [24])),
    ],
    sessions: [3, 24, 48, 96, 192],
    visibility: { case: '32 GET : 1 PUT', sessions: 24 },
  },
  {
    name: 'okapi-vs-gentlerain-5',
    about: 'read-only transactions with 5 regions, which are farther apart',
    figure: 'Okapi, Fig. 4',
    systems: OKAPI,
    layout: FULL_FIVE_SINGLE,
    cases: [readsThenWrite(4)],
    sessions: [5, 25, 100],
  },
  {
    name: 'contrarian-vs-cclo-1',
    about: 'read-only transactions in two rounds against readers checks, 1 region',
    figure: 'Contrarian, Fig. 4–6',
    systems: CONTRARIAN,
    layout: ALONE,
    cases: [rots(0.05), ...[0.01, 0.1].map((ratio) => variation(rots(ratio), [24, MANY_SESSIONS]))],
    sessions: [2, 24, 96, MANY_SESSIONS, 2 * MANY_SESSIONS],
  },
  {
    name: 'contrarian-vs-cclo-3',
    about: 'read-only transactions in two rounds against readers checks, 3 regions',
    figure: 'Contrarian, Fig. 4–6',
    systems: CONTRARIAN,
    layout: FULL,
    cases: [rots(0.05), ...[0.01, 0.1].map((ratio) => variation(rots(ratio), [24, MANY_SESSIONS]))],
    sessions: [6, 24, 96, MANY_SESSIONS, 2 * MANY_SESSIONS],
  },
  {
    name: 'orbe-vs-eventual',
    about: 'what causal consistency costs, by the share of updates',
    figure: 'Orbe, Fig. 5 and 6',
    systems: [ORBE, system('Eventual', 'eventual')],
    layout: PAIR,
    cases: [0.01, 0.1, 0.5, 0.9, 0.99].map((writes) => putsAndGets(writes)),
    sessions: [24, 96],
  },
  {
    name: 'orbe-vs-cops',
    about: 'nearest dependencies against all of them, by the time between operations',
    figure: 'Orbe, Fig. 7–9',
    systems: [ORBE, system('COPS-GT', 'cops-gt')],
    layout: PAIR,
    cases: [1, 10, 100].map((pauseMs) => putsAndGets(0.1, pauseMs)),
    sessions: [96],
  },
  {
    name: 'orbe-cleaning',
    about: 'with and without dependency cleaning',
    figure: 'Orbe, Fig. 11–13',
    systems: [ORBE, system('with cleaning', 'orbe-cleaning')],
    layout: { ...PAIR, partitions: 8, nodesPerRegion: 4 },
    cases: [getsThenPut(8)],
    sessions: [24, 96],
  },
];
