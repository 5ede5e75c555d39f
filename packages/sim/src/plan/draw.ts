/** Draws a plan from a seed: a swarm of settings, so that every run is of its own kind. */
import type { ClusterSpec, NodeId, Random } from '@isochron/core';
import { Topology } from '@isochron/core';
import { between, integer, logBetween, rounded, weighted } from '@isochron/simulated-world/draws';
import { Streams } from '../engine/streams.js';
import type { Settings } from '../protocols/adapter.js';
import { drawRoom, drawVerification } from '../protocols/settings.js';
import { drawAlbums } from './draw-albums.js';
import { withBoards } from './draw-boards.js';
import { withBursts } from './draw-bursts.js';
import {
  drawDrains,
  drawFaults,
  drawLostAnswers,
  drawMaps,
  drawOrders,
  drawOutsiders,
  withStays,
} from './draw-faults.js';
import { drawHttp } from './draw-http.js';
import { withLive } from './draw-live.js';
import { withNotes } from './draw-notes.js';
import { drawReaders, drawRetention, withDocuments } from './draw-readers.js';
import { withRepeats } from './draw-repeats.js';
import { drawSessions } from './draw-sessions.js';
import { withStableWaits } from './draw-stable.js';
import { withUpdates } from './draw-updates.js';
import { keysOf } from './keys.js';
import type { DrawMix } from './mix.js';
import { DRAW_VERSION, type Environment, type Plan, type SessionPlan } from './plan.js';

/** The properties of a protocol that its plans depend on. */
export interface DrawnProtocol {
  readonly name: string;
  readonly crashPoints: readonly string[];
  fit(cluster: ClusterSpec, random: Random): ClusterSpec;
  drawTimes?(environment: Environment, random: Random, topology: Topology): Environment;
  drawSettings(random: Random): Settings;
  readonly drawMix: DrawMix;
  /** Whether sessions may write several keys at once: single operations are done one after the other. */
  readonly drawsBursts: boolean;
  /** Whether writes may be updates. */
  readonly drawsUpdates: boolean;
  /** Whether nodes have a change feed. */
  readonly drawsReaders: boolean;
  /** Whether clients have live queries. */
  readonly drawsLive: boolean;
  /** Whether sessions may be under access rules. */
  readonly drawsAlbums: boolean;
  /** Whether nodes decide maps. */
  readonly drawsMaps: boolean;
  /** Opens the HTTP API of a node, under protocols that have one here. */
  readonly openHttp?: unknown;
}

/** How large runs are. */
export interface PlanSize {
  /** Transactions of all sessions together; about 200 by default. */
  readonly transactions: number;
  /**
   * After this time a node that does not answer is suspended, under protocols with maps; never, if absent. `drawn`:
   * after some time, in half of the plans.
   */
  readonly suspendAfterMs?: number | 'drawn' | undefined;
}

/** Faults that take data from disks. */
const LOSING: ReadonlySet<string> = new Set(['rollback', 'wipe']);

export const DEFAULT_SIZE: PlanSize = { transactions: 200 };

/** The plan of a seed. The same seed gives the same plan as long as {@link DRAW_VERSION} does not change. */
export function drawPlan(protocol: DrawnProtocol, seed: number, size: PlanSize = DEFAULT_SIZE): Plan {
  const streams = new Streams(seed);
  const cluster = protocol.fit(drawCluster(streams.of('draw cluster')), streams.of('draw fit'));
  const topology = Topology.of(cluster);
  const drawn = drawEnvironment(streams.of('draw environment'), topology);
  const environment = {
    ...(protocol.drawTimes?.(drawn, streams.of('draw times'), topology) ?? drawn),
    ...drawImpatience(streams.of('draw impatience')),
    ...drawCredits(streams.of('draw credits')),
    ...drawCredentials(streams.of('draw credentials')),
  };
  const drawnSessions = drawSessions(streams.of('draw sessions'), topology, size.transactions, protocol.drawMix);
  const sessions = drawTokens(streams.of('draw tokens'), drawnSessions);
  const settings = {
    ...protocol.drawSettings(streams.of('draw settings')),
    ...drawVerification(streams.of('draw verification')),
    ...drawRoom(streams.of('draw room')),
  };
  const http =
    protocol.openHttp === undefined ? undefined : drawHttp(streams.of('draw http'), topology, keysOf({ sessions }));
  const safetyMs = 20_000;
  const scene = { topology, sessions: sessions.map(({ name }) => name), crashPoints: protocol.crashPoints };
  const spanMs = expectedMs(environment, sessions);
  const drains = http === undefined ? [] : drawDrains(streams.of('draw drains'), scene, spanMs);
  const readers = protocol.drawsReaders
    ? drawReaders(streams.of('draw followers'), keysOf({ sessions, http }), spanMs)
    : undefined;
  const waiting = withStableWaits(streams.of('draw stable'), sessions);
  const bursting = protocol.drawsBursts ? withBursts(streams.of('draw bursts'), topology, waiting) : waiting;
  const updating = protocol.drawsUpdates ? withUpdates(streams.of('draw updates'), bursting) : bursting;
  const observing = protocol.drawsLive ? withLive(streams.of('draw live'), updating) : updating;
  const follows = readers !== undefined || observing !== updating;
  const albums = protocol.drawsAlbums ? drawRuled(streams, topology) : undefined;
  const lostAnswers = drawLostAnswers(streams.of('draw lost answers'), scene, spanMs);
  const outsiders = drawOutsiders(streams.of('draw outsiders'), scene, spanMs);
  const disturbances = drawFaults(streams, scene, spanMs);
  const drawnMaps = protocol.drawsMaps ? drawMaps(streams.of('draw maps'), scene, spanMs) : [];
  const suspension = protocol.drawsMaps ? drawSuspension(streams.of('draw suspension'), size) : {};
  const orders = suspension.suspendAfterMs ? drawOrders(streams.of('draw orders'), scene, spanMs) : [];
  const maps = [...withStays(streams.of('draw stays'), drawnMaps), ...orders];
  // A disk is not yet repaired right while a node is no member.
  const changes = disturbances.some(({ kind }) => LOSING.has(kind))
    ? maps.filter(({ kind }) => kind === 'nextMap')
    : maps;
  const faults = [...disturbances, ...drains, ...lostAnswers, ...outsiders, ...changes].sort((a, b) => a.atMs - b.atMs);
  return {
    draw: DRAW_VERSION,
    protocol: protocol.name,
    seed,
    cluster,
    settings: {
      ...settings,
      ...(follows ? drawRetention(streams.of('draw retention')) : {}),
      ...suspension,
    },
    environment: observing === updating && albums === undefined ? environment : withCreditsToWait(environment),
    sessions: observing,
    ...(http === undefined ? {} : { http: withRepeats(streams.of('draw repeats'), topology, http, settings) }),
    ...(readers && { readers: withDocuments(streams.of('draw documents'), readers) }),
    ...(albums === undefined ? {} : { albums }),
    faults,
    safetyMs,
  };
}

/** What is under access rules, if the run has any. */
function drawRuled(streams: Streams, topology: Topology): Plan['albums'] {
  const albums = drawAlbums(streams.of('draw albums'), topology);
  return withNotes(streams.of('draw notes'), topology, withBoards(streams.of('draw boards'), topology, albums));
}

function drawCluster(random: Random): ClusterSpec {
  const names = ['virginia', 'oregon', 'ireland', 'mumbai', 'tokyo'];
  const count = weighted(random, [
    [1, 1],
    [2, 2],
    [3, 5],
    [4, 2],
    [5, 1.5],
  ]);
  const most = weighted(random, [
    [1, 4],
    [2, 3],
    [3, 1],
  ]);
  const regions = names.slice(0, count).map((id) => ({
    id,
    nodes: Array.from({ length: integer(random, 1, most) }, (_, i) => ({ id: `${id}-${i + 1}` })),
  }));
  const replication = integer(random, 1, count);
  const spread = { name: 'default', partitions: integer(random, 1, 8), replication };
  if (spread.partitions < 3 || !random.chance(0.2)) return { regions, keyspaces: [spread] };
  // A part of the data is bound to its regions.
  const home = regions.filter(() => random.chance(0.5)).map(({ id }) => id);
  const pinned = { name: 'pinned', partitions: 1, regions: home.length > 0 ? home : [regions[0]!.id] };
  return { regions, keyspaces: [{ ...spread, partitions: spread.partitions - 1 }, pinned] };
}

function drawEnvironment(random: Random, topology: Topology): Environment {
  const { regions, nodes } = topology;
  const far = logBetween(random, 1, 120);
  const delay = regions.map(() => regions.map(() => 0));
  for (let i = 0; i < regions.length; i++) {
    delay[i]![i] = rounded(logBetween(random, 0.1, 2));
    for (let j = 0; j < i; j++) delay[i]![j] = delay[j]![i] = rounded(far * logBetween(random, 0.2, 2));
  }
  const sync = logBetween(random, 0.2, 10);
  const skewMs = weighted(random, [
    [0, 1],
    [5, 3],
    [100, 3],
    [1_500, 1],
  ]);
  return {
    delayMs: delay,
    jitter: weighted(random, [
      [0, 1],
      [0.2, 3],
      [1, 2],
    ]),
    slowLinks: drawSlowLinks(random, nodes, 2 * far),
    noticeMs: rounded(logBetween(random, 1, 800)),
    reconnectMs: [5, rounded(logBetween(random, 10, 600))],
    lateFrames: random.chance(0.5),
    syncMs: nodes.map(() => rounded(sync * logBetween(random, 0.5, random.chance(0.1) ? 20 : 2))),
    coldReads: random.chance(0.5) ? 0 : rounded(random.float() ** 2),
    prefetchMs: rounded(logBetween(random, 0.1, 20)),
    lateHorizons: random.chance(0.5),
    clocks: nodes.map(() => ({
      skewMs: Math.round(between(random, -skewMs, skewMs)),
      driftPpm: Math.round(between(random, -200, 200)),
    })),
    founded: random.chance(0.8),
    encoded: random.chance(0.1),
    clientMs: rounded(logBetween(random, 0.1, 30)),
    requestTimeoutMs: Math.round(logBetween(random, 700, 10_000)),
  };
}

/** Some clients wait for the outcome of a commit for a limited time. */
const drawImpatience = (random: Random): Pick<Environment, 'commitTimeoutMs'> =>
  random.chance(0.7) ? {} : { commitTimeoutMs: Math.round(logBetween(random, 100, 5_000)) };

/** Some sessions that go on under a new id carry only their token. */
const drawTokens = (random: Random, sessions: readonly SessionPlan[]): readonly SessionPlan[] =>
  sessions.map((session) => ({
    ...session,
    transactions: session.transactions.map((one) =>
      one.kind === 'move' && one.anew && random.chance(0.3) ? { ...one, anew: 'token' } : one,
    ),
  }));

/** Some nodes serve few requests of a client at once. */
const drawCredits = (random: Random): Pick<Environment, 'credits'> =>
  random.chance(0.9) ? {} : { credits: integer(random, 1, 3) };

/** Some clients have credentials that expire. */
const drawCredentials = (random: Random): Pick<Environment, 'credentialsMs'> =>
  random.chance(0.75) ? {} : { credentialsMs: Math.round(logBetween(random, 1_000, 8_000)) };

/**
 * A request that waits for changes takes a credit for as long, and its successor another one: clients with few credits
 * have those two besides.
 */
const withCreditsToWait = (environment: Environment): Environment =>
  environment.credits === undefined ? environment : { ...environment, credits: environment.credits + 2 };

/** A permanent one-way delay that exceeds every protocol setting. */
const MAX_PERMANENT_MS = 400;

/** One slow link while others are fast. */
function drawSlowLinks(random: Random, nodes: readonly NodeId[], delayMs: number): Environment['slowLinks'] {
  if (nodes.length < 2 || !random.chance(0.4)) return [];
  const a = random.pick(nodes);
  const b = random.pick(nodes.filter((node) => node !== a));
  const factor = Math.min(integer(random, 3, 30), MAX_PERMANENT_MS / delayMs);
  return factor > 1 ? [{ a, b, factor: rounded(factor) }] : [];
}

/** About how long the sessions will take, ms: faults should fall into this time. */
function expectedMs(environment: Environment, sessions: Plan['sessions']): number {
  const remote = environment.delayMs.flat().reduce((sum, ms) => sum + ms, 0) / environment.delayMs.flat().length;
  const perTx = 4 * (remote + environment.clientMs) + 3 * Math.max(...environment.syncMs);
  const longest = Math.max(
    ...sessions.map(({ transactions }) => transactions.reduce((sum, tx) => sum + tx.thinkMs + perTx, 0)),
  );
  return Math.min(15_000, 500 + longest);
}

function drawSuspension(random: Random, { suspendAfterMs: given }: PlanSize): Plan['settings'] {
  const drawn = () => (random.chance(0.5) ? Math.round(logBetween(random, 200, 3_000)) : 0);
  const suspendAfterMs = given === 'drawn' ? drawn() : given;
  // What is committed again takes effect by its first timestamp in some runs, and in the order of commits in others.
  return suspendAfterMs ? { suspendAfterMs, lateInOrder: random.below(2) } : {};
}
