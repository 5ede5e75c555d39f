/** The section of a report on scaling: the simulation, its costs and its results. */

import type { Cost, Costs } from '@isochron/sim/scale/cost-model';
import { GROUPS } from '@isochron/sim/scale/groups';
import type { Ramp } from '@isochron/sim/scale/run-scale';
import { number, table } from '../../markdown.js';
import { renderPlot, type Series } from '../../plot.js';
import { findingsOf } from './claims.js';
import { MIXES, type MixName } from './experiment.js';
import { bestOf, type ConfigurationRecord, type ScaleRecord } from './record.js';
import { nameOf } from './run.js';

type AddPlot = (file: string, svg: string) => void;

/** Columns of a table of claims, the same as in the report. */
export const CLAIM_HEAD = ['claim', 'the paper’s figure', 'ours', 'bound', 'reached', 'conditions', 'why it differs'];

/** The claims, as rows of the report's table. */
export const scaleClaimRows = (record: ScaleRecord): string[][] =>
  findingsOf(record).map(({ claim, ratio, conditions, reached, why }) => [
    claim.claim,
    claim.paper,
    `${number(ratio)}×`,
    claim.bound === undefined ? '' : `≥ ${number(claim.bound)}×`,
    reached === undefined ? '' : reached ? 'yes' : '**no**',
    conditions,
    record.quick ? 'a quick run measures nothing' : why,
  ]);

/** Markdown. @param addPlot receives the plots that it refers to */
export function scaleSection(record: ScaleRecord, addPlot: AddPlot): string {
  const { name, figure, about } = record.experiment;
  return [
    `## ${name}`,
    `${figure}: ${about}.`,
    conditionsOf(record),
    ...plots(record, addPlot),
    '### Throughput',
    'Each configuration at the point with the most throughput. The cores of a node are busy for the share that is given: the mean over the nodes, the least busy and the busiest one.',
    resultTable(record),
    '### All points',
    pointTable(record),
    '### Where the CPU time goes',
    'µs a transaction, over all nodes, at the point with the most throughput.',
    cpuTable(record),
    '### The cost model',
    ...costModel(record),
  ].join('\n\n');
}

function conditionsOf({ experiment: { conditions }, seed }: ScaleRecord): string {
  const { cores, lanMs, skewsMs, keysPerPartition, ramps } = conditions;
  return [
    '- The real machines of all nodes on virtual time. Messages, requests, timers and durable batches take the time that the cost model below gives them; a node does one after the other.',
    `- A node has ${cores} ${cores === 1 ? 'core: its event loop is one thread' : 'cores'}, and a disk that writes one batch at a time. One partition a node; PaRiS and BPR have each in two regions, Wren in all.`,
    `- Between regions half the round trips of the PaRiS paper (Fig. 1); for the five regions that it does not give, in proportion to the distance. In a region, and between client and node, ${lanMs} ms. Clocks off by ${skewsMs.join(', ')} ms in turn.`,
    `- Clients in a closed loop beside each node, 20 operations a transaction on 4 partitions, 95 % of the transactions local, zipf 0.99 over ${keysPerPartition.toLocaleString('en-US')} keys a partition.`,
    ...(Object.entries(ramps) as [MixName, Ramp][]).map(
      ([mix, { clientsPerNode, leastGain, settleMs, measureMs }]) =>
        `- ${mix}: ${clientsPerNode.join(', ')} clients a node, until throughput grows by less than ${leastGain * 100} %; ${settleMs} ms to settle, ${measureMs} ms measured.`,
    ),
    `- Seed ${seed}: the same seed and costs give the same figures, on every machine.`,
  ].join('\n');
}

function plots(record: ScaleRecord, addPlot: AddPlot): string[] {
  return (Object.keys(MIXES) as (keyof typeof MIXES)[]).flatMap((mix) => {
    const own = record.runs.filter(({ configuration }) => configuration.mix === mix);
    if (own.length === 0) return [];
    const by = (what: 'nodesPerRegion' | 'regions', x: string): string[] => {
      const series = seriesBy(own, what);
      if (series.length === 0) return [];
      const file = `scale-${what === 'regions' ? 'regions' : 'nodes'}-${mix.replace(':', '-')}.svg`;
      addPlot(file, renderPlot({ title: `scale, ${mix}`, x, y: 'transactions/s', dots: true, series }));
      return [`![throughput by ${x}](${file})`];
    };
    return [...by('nodesPerRegion', 'nodes a region'), ...by('regions', 'regions')];
  });
}

/** A line for each system and number of the other dimension, with at least two points. */
function seriesBy(runs: readonly ConfigurationRecord[], x: 'nodesPerRegion' | 'regions'): Series[] {
  const lines = new Map<string, (readonly [number, number])[]>();
  for (const { configuration, result } of runs) {
    const { system, regions, nodesPerRegion } = configuration;
    const name = `${system}, ${x === 'regions' ? `${nodesPerRegion} nodes a region` : `${regions} regions`}`;
    lines.set(name, [...(lines.get(name) ?? []), [configuration[x], bestOf(result).perSecond] as const]);
  }
  return [...lines].filter(([, points]) => points.length > 1).map(([name, points]) => ({ name, points }));
}

const percent = (share: number): string => (share * 100).toFixed(0);

function resultTable({ runs }: ScaleRecord): string {
  const rows = runs.map(({ configuration, result }) => {
    const { clientsPerNode, perSecond, meanMs, p99Ms, utilisation, diskUtilisation } = bestOf(result);
    const { mean, least, most } = utilisation;
    return [
      nameOf(configuration),
      String(result.nodes),
      String(clientsPerNode),
      number(perSecond),
      number(perSecond / result.nodes),
      number(meanMs),
      number(p99Ms),
      `${percent(mean)} (${percent(least)}–${percent(most)})`,
      percent(diskUtilisation.mean),
    ];
  });
  const head = ['', 'nodes', 'clients a node', 'tx/s', 'tx/s a node', 'mean ms', 'p99', 'cores busy %', 'disks busy %'];
  return table(head, rows, true);
}

function pointTable({ runs }: ScaleRecord): string {
  const rows = runs.flatMap(({ configuration, result }) =>
    result.points.map((point) => [
      nameOf(configuration),
      String(point.clientsPerNode),
      number(point.perSecond),
      number(point.meanMs),
      number(point.p50Ms),
      number(point.p99Ms),
      percent(point.utilisation.mean),
      String(point.refused),
    ]),
  );
  return table(['', 'clients a node', 'tx/s', 'mean ms', 'p50', 'p99', 'cores busy %', 'refused'], rows, true);
}

function cpuTable({ runs }: ScaleRecord): string {
  const rows = runs.map(({ configuration, result }) => {
    const { cpuUs } = bestOf(result);
    const all = GROUPS.reduce((sum, group) => sum + cpuUs[group], 0);
    return [nameOf(configuration), number(all), ...GROUPS.map((group) => number(cpuUs[group]))];
  });
  return table(['', 'all', ...GROUPS], rows, true);
}

function costModel({ costs: { date, quick, machine, model, checks } }: ScaleRecord): string[] {
  const { steps, encode, decode, frame, client, batch, turnUs } = model;
  const rows = [
    ...rowsOf('step', steps),
    ...rowsOf('encode', encode),
    ...rowsOf('decode', decode),
    ['frame of peers, sent', number(frame.sendUs), ''],
    ['frame of peers, received', number(frame.receiveUs), ''],
    rowOf('message from a client', client.receive),
    rowOf('message to a client', client.send),
    ['turn of an event loop', number(turnUs), ''],
    rowOf('durable batch, event loop', batch.loop),
    rowOf('durable batch, until it is on disk', batch.disk),
  ];
  return [
    [
      ...(quick ? ['- **A quick measurement, which proves nothing.**'] : []),
      `- Measured ${date} by \`npm run bench:costs\` on ${machine.cores} × ${machine.cpu}, ${machine.system}, Node ${machine.node}${machine.loadBefore > 0.5 ? `; others used the machine (load ${machine.loadBefore.toFixed(1)})` : ''}.`,
      '- Steps: the real machines of six nodes on real LevelDB under both mixes, each step timed. Codec: the messages that crossed links meanwhile. Frames: WebSocket links over loopback. Batches: those of the machines, once more on a synced disk. All of it is CPU time, but for the disk.',
      '- Clients, turns, and how much of what batches cost alone they cost beside other work: what is left of the CPU time of real nodes’ event loops, by least squares over the loads below. An item is a key, a version, a write or a record.',
    ].join('\n'),
    table(['cost', 'µs', 'µs for each item'], rows, true),
    'Real nodes beside the model, CPU time of event loops, µs a transaction:',
    table(
      ['', 'real', 'model', 'model ÷ real'],
      checks.map(({ what, realUs, modelUs }) => [what, number(realUs), number(modelUs), number(modelUs / realUs)]),
      true,
    ),
  ];
}

const rowOf = (what: string, { us, perItemUs }: Cost): string[] => [what, number(us), number(perItemUs)];

const rowsOf = (what: string, costs: Costs): string[][] =>
  Object.entries(costs).map(([kind, cost]) => rowOf(`${what} ${kind}`, cost));
