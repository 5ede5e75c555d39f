import type { AnyMessage } from '@isochron/core';
import { DEFAULT_SETTINGS } from '@isochron/protocols';
import { AlbumsArePrivate } from '../checks/access/albums.js';
import {
  ExpiredAreRefused,
  RenewalIsNotNoticed,
  refusalsByClock,
  StatusIsPrivate,
} from '../checks/access/credentials.js';
import { HiddenKeys } from '../checks/access/hidden-keys.js';
import { WritesArePermitted } from '../checks/access/permitted.js';
import { FinalStatusesAreTrue } from '../checks/atomicity/final-statuses.js';
import { LossesAreSettled } from '../checks/atomicity/losses.js';
import { OneOutcome } from '../checks/atomicity/outcomes.js';
import { SurvivorsAgree } from '../checks/atomicity/survivors.js';
import { ClientReads } from '../checks/causality/client-reads.js';
import { ConsistentHistory } from '../checks/causality/history.js';
import { HttpSessionsSeeTheirLineage } from '../checks/causality/http-sessions.js';
import { SessionsAreCovered } from '../checks/causality/sessions-are-covered.js';
import { SnapshotReads } from '../checks/causality/snapshot-reads.js';
import { TimestampsStayNear } from '../checks/causality/timestamps.js';
import { NothingBelowVersionClock } from '../checks/causality/version-clock.js';
import { WritesAscend } from '../checks/causality/writes-ascend.js';
import type { Check, CheckContext } from '../checks/check.js';
import { AcknowledgedIsKept } from '../checks/durability/acknowledged.js';
import { FirstReports, NothingBeforeReports } from '../checks/durability/first-reports.js';
import { PromisesAreDurable } from '../checks/durability/promises.js';
import { AppliedVersions } from '../checks/evidence/applied-versions.js';
import { Ledger } from '../checks/evidence/ledger.js';
import { UP_TO_A_TIMESTAMP } from '../checks/evidence/visibility.js';
import { OneEffect } from '../checks/exactly-once/one-effect.js';
import { ChangesAreComplete, type Retention } from '../checks/feeds/changes.js';
import { FeedsMakeCopies } from '../checks/feeds/feed-copies.js';
import { LiveChangesAreExact } from '../checks/live/live-changes.js';
import { LiveQueriesAreEvaluated } from '../checks/live/live-queries.js';
import { LiveViewsAreSnapshots } from '../checks/live/live-views.js';
import type { HealedWorld } from '../checks/liveness/convergence.js';
import { MemoryIsBounded } from '../checks/liveness/memory.js';
import { NonblockingReads } from '../checks/liveness/nonblocking-reads.js';
import { ReadsNeverWait } from '../checks/liveness/reads-never-wait.js';
import { UndisturbedAreAnswered } from '../checks/liveness/undisturbed.js';
import { VisibleInTheEnd } from '../checks/liveness/visible-in-the-end.js';
import { WritesGoOn } from '../checks/liveness/writes-go-on.js';
import { CompleteIsEverywhere } from '../checks/stability/complete-is-everywhere.js';
import { OneMapAVersion } from '../checks/stability/maps.js';
import { StableIsServed } from '../checks/stability/stable-is-served.js';
import { StableIsInstalled, StableTimeIsMonotonic } from '../checks/stability/stable-time.js';
import type { Actor } from '../clients/actor.js';
import type { Histories } from '../clients/recorder.js';
import type { Plan } from '../plan/plan.js';
import type { Demands } from '../protocols/adapter.js';
import type { Cluster } from '../world/cluster.js';

/** Every check of a run. */
export interface Checks {
  readonly all: readonly Check[];
  readonly liveViews: LiveViewsAreSnapshots;
  /** The state that the goals of the second phase depend on. */
  healed(unfinished: () => readonly string[]): HealedWorld;
}

/** Creates them; the ledger comes first, so that the others find the newest state in it. */
export function createChecks<M extends AnyMessage>(
  context: CheckContext,
  cluster: Pick<Cluster<M>, 'nodes' | 'node' | 'topology' | 'isGone'>,
  histories: Histories,
  plan: Plan,
  actors: () => readonly Actor[],
  { level, beyond, visibility: visibilityIn, clientSnapshots, readsWait, takesBack }: Demands,
): Checks {
  const visibility = visibilityIn?.(context.topology);
  const disk = (node: string) => cluster.node(node).disk.durable;
  const watched = {
    hasData: (node: string) => disk(node).meta.size > 0,
    forwardMs: (node: string) => cluster.node(node).clock.forwardMs,
  };
  const { verifyTimeoutMs, lateInOrder = 0 } = { ...DEFAULT_SETTINGS, ...plan.settings };
  const reports = new FirstReports(context, watched, verifyTimeoutMs);
  const unstable = takesBack ? 'nothing' : visibility === undefined ? 'all' : 'own';
  const usts = () => cluster.nodes.map(({ id }) => cluster.node(id).protocol?.ust() ?? 0);
  const highest = () => Math.max(...usts());
  const mapOf = (node: string) => cluster.node(node).protocol?.maps.current ?? cluster.topology;
  // Up to the horizon of a map, the members of the map before that stay have everything (M3); nodes that it brings back
  // follow (M5).
  const mapFor = (node: string, stable: number) => {
    const maps = cluster.node(node).protocol?.maps;
    let topology = mapOf(node);
    const before = () => maps!.at(topology.version - 1)!;
    const returns = () => topology.map.members.some((member) => !before().map.members.includes(member));
    while (topology.version > 0 && stable <= topology.map.horizon && returns()) topology = before();
    return topology;
  };
  const lowestClock = () => Math.min(...cluster.nodes.map(({ id }) => cluster.node(id).clock.now()));
  const ledger = new Ledger(context, visibility ?? UP_TO_A_TIMESTAMP, reports, unstable, highest, lateInOrder > 0);
  const loadOf = (node: string) => cluster.node(node).protocol?.load() ?? {};
  const losses = (node: string) => cluster.node(node).protocol?.losses() ?? [];
  const loads = () => cluster.nodes.map(({ id }) => [id, loadOf(id)] as const);
  const caches = () => actors().map((actor) => [actor.name, actor.cachedAt(ledger.lastCt)] as const);
  const liveViews = new LiveViewsAreSnapshots(context, ledger);
  const applied = new AppliedVersions();
  const all: Check[] = [
    ledger,
    applied,
    new ChangesAreComplete(context, ledger, retentionOf(plan), highest),
    new FeedsMakeCopies(context, ledger),
    liveViews,
    new LiveChangesAreExact(context, refusalsByClock(plan)),
    new LiveQueriesAreEvaluated(context),
    reports,
    new NothingBeforeReports(context, ledger, reports),
    new StableIsInstalled(context, ledger, mapFor),
    new CompleteIsEverywhere(context, ledger),
    new StableIsServed(context, ledger, visibility, () => context.topology.nodes.every((node) => mapOf(node).isWhole)),
    new StableTimeIsMonotonic(context),
    new OneMapAVersion(context),
    new NothingBelowVersionClock(context, ledger),
    new PromisesAreDurable(context, ledger),
    new OneOutcome(context, ledger),
    new OneEffect(context, ledger, applied),
    new SurvivorsAgree(context),
    ...(visibility === undefined ? [] : [new SnapshotReads(context, ledger, visibility)]),
    ...(visibility === undefined || !clientSnapshots ? [] : [new ClientReads(context, ledger, visibility)]),
    ...(readsWait === 'never' ? [new ReadsNeverWait(context)] : []),
    ...(readsWait === 'for-lost-data' ? [new NonblockingReads(context)] : []),
    ...(level === 'eventual' ? [] : [new HttpSessionsSeeTheirLineage(context, ledger)]),
    new AcknowledgedIsKept(context, ledger, disk),
    new LossesAreSettled(context, ledger, disk, losses, takesBack),
    new FinalStatusesAreTrue(context, applied, losses),
    new SessionsAreCovered(context, ledger),
    new VisibleInTheEnd(context, ledger),
    new MemoryIsBounded(context, loads, 50 + mostInFlight(plan), caches),
    ...(clientSnapshots ? [new WritesGoOn(context, plan), new WritesAscend(context)] : []),
    new UndisturbedAreAnswered(context, plan),
    new ExpiredAreRefused(context),
    new StatusIsPrivate(context),
    new RenewalIsNotNoticed(context, plan),
    new TimestampsStayNear(context, plan),
    new AlbumsArePrivate(context),
    new HiddenKeys(context, ledger, plan.albums?.notes !== undefined),
    new WritesArePermitted(context, ledger, plan.albums?.boards, { stable: highest, lowestClock }),
    ...[level, ...beyond].map((one) => new ConsistentHistory(context, ledger, histories.lines, one)),
  ];
  const { topology } = cluster;
  const ust = (node: string) => cluster.node(node).protocol?.ust() ?? 0;
  const load = (node: string) => ({ ...loadOf(node), ...cluster.node(node).protocol?.backlog() });
  const depsTravel = visibility?.localDeps !== true;
  return {
    all,
    liveViews,
    healed: (unfinished) => ({
      topology,
      nodes: topology.nodes.filter((node) => !cluster.isGone(node)),
      ledger,
      disk,
      depsTravel,
      ust,
      load,
      losses,
      applied: (txId) => applied.of(txId),
      unfinished,
    }),
  };
}

function retentionOf({ settings }: Plan): Retention {
  const { changeRetentionMs = DEFAULT_SETTINGS.changeRetentionMs, changeRetentionBytes } = settings;
  return changeRetentionBytes === undefined ? changeRetentionMs : undefined;
}

/** Items of one kind that a run's clients can have in flight at once: HTTP callers do not wait for answers. */
function mostInFlight({ sessions, http, albums }: Plan): number {
  const ofCallers = (http?.callers ?? []).map(({ requests }) => Math.max(20, requests.length));
  return ofCallers.reduce((sum, count) => sum + count, 20 * (sessions.length + ruledSessions(albums)));
}

const ruledSessions = (albums: Plan['albums']): number =>
  (albums?.sessions.length ?? 0) + (albums?.boards?.sessions.length ?? 0) + (albums?.notes?.sessions.length ?? 0);
