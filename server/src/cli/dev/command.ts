/** `isochron dev`: a cluster on this machine, one process per node. */
import { stopOnSignals } from '../children/stop-on-signals.js';
import { Supervisor } from '../children/supervisor.js';
import { Interrupted } from '../failures.js';
import { print, remark } from '../output.js';
import { certificateOptions, ensureCertificates } from './certificates.js';
import { type DevCluster, planCluster, writeFolder } from './files.js';
import type { DevOptions, PlannedNode } from './plan.js';
import { checkPorts } from './ports.js';
import { waitUntilReady } from './ready.js';
import { StartProgress, welcome, welcomeJson } from './screen.js';

/** Runs until it is stopped. @throws UsageError, IsochronError, ReportedFailure, Interrupted */
export async function runDev(options: DevOptions): Promise<void> {
  const cluster = planCluster(options);
  const { config, nodes } = cluster;
  await checkPorts(nodes);
  const secretFile = writeFolder(cluster, options);
  await ensureCertificates(cluster, options);
  const progress = new StartProgress(nodes);
  const supervisor = new Supervisor<PlannedNode>(nodes, (node) => nodeArgs(node, cluster, secretFile, options), {
    untilReady: waitUntilReady,
    ready: (node, afterMs) => progress.ready(node, afterMs),
    remark: (line) => progress.line(line),
  });
  const stop = stopOnSignals(supervisor, ['SIGINT', 'SIGTERM', 'SIGHUP'], () => {
    progress.end();
    remark('\nStopping; once more to force it ...');
  });
  try {
    await supervisor.started();
  } catch (error) {
    throw stop.requested ? new Interrupted('stopped before the cluster was ready') : error;
  } finally {
    progress.end();
  }
  print((options.json ? welcomeJson : welcome)(config, nodes, options));
  await supervisor.ended();
  remark('Stopped.');
}

function nodeArgs(node: PlannedNode, { configFile }: DevCluster, secretFile: string, options: DevOptions): string[] {
  const files = ['--config', configFile, '--secret-file', secretFile, '--data', node.dataDir];
  return [
    'node',
    '--node',
    node.id,
    ...files,
    ...certificateOptions(node, options),
    '--metrics-port',
    String(node.metricsPort),
    '--log-level',
    options.logLevel,
  ];
}
