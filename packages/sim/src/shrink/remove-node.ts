import type { ClusterSpec, NodeId } from '@isochron/core';
import type { Plan } from '../plan/plan.js';

/** The plan without a node, and without its region when that was its last; undefined if no valid plan is left. */
export function removeNode(plan: Plan, node: NodeId): Plan | undefined {
  const nodes = plan.cluster.regions.flatMap((region) => region.nodes.map(({ id }) => id));
  const gone = nodes.indexOf(node);
  if (gone < 0 || nodes.length === 1) return undefined;
  const all = plan.cluster.regions.map((region) => ({
    ...region,
    nodes: region.nodes.filter(({ id }) => id !== node),
  }));
  const emptied = all.findIndex((region) => region.nodes.length === 0);
  const regions = all.filter((_region, i) => i !== emptied);
  if (
    emptied >= 0 &&
    JSON.stringify([plan.sessions, plan.http ?? null, plan.albums ?? null, plan.faults]).includes(
      `"${all[emptied]!.id}"`,
    )
  )
    return undefined;
  if (JSON.stringify(plan.faults).includes(`"${node}"`)) return undefined;
  const cluster = withRegions(plan.cluster, regions);
  if (cluster === undefined) return undefined;
  const { environment } = plan;
  const without = <T>(items: readonly T[]): T[] => items.filter((_item, i) => i !== gone);
  const withoutRegion = <T>(items: readonly T[]): T[] => items.filter((_item, i) => i !== emptied);
  return {
    ...plan,
    cluster,
    environment: {
      ...environment,
      delayMs: withoutRegion(environment.delayMs).map(withoutRegion),
      syncMs: without(environment.syncMs),
      clocks: without(environment.clocks),
      slowLinks: environment.slowLinks.filter(({ a, b }) => a !== node && b !== node),
    },
  };
}

/** Keyspaces keep as many replicas as the regions that are left allow. */
function withRegions({ keyspaces }: ClusterSpec, regions: ClusterSpec['regions']): ClusterSpec | undefined {
  const ids = new Set(regions.map(({ id }) => id));
  const fitting = keyspaces.map((keyspace) =>
    keyspace.regions === undefined
      ? { ...keyspace, replication: Math.min(keyspace.replication ?? 1, regions.length) }
      : { ...keyspace, regions: keyspace.regions.filter((region) => ids.has(region)) },
  );
  const possible = fitting.every((keyspace) => keyspace.regions === undefined || keyspace.regions.length > 0);
  return possible ? { keyspaces: fitting, regions } : undefined;
}
