/** The folder of a development cluster: cluster file, secret, a folder per node. */
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ClusterConfig, parseClusterFile, writeClusterFile } from '../../config/cluster-file.js';
import { ensureSecretFile } from '../../config/secret.js';
import { makeFolder, replaceFile } from '../files.js';
import { lockFolder } from './lock.js';
import { type DevOptions, devClusterFile, type PlannedNode, planNodes } from './plan.js';

/** Everything that is needed to start the nodes. */
export interface DevCluster {
  readonly configFile: string;
  /** New text of the cluster file; undefined when it is kept. */
  readonly configText: string | undefined;
  readonly config: ClusterConfig;
  readonly nodes: readonly PlannedNode[];
}

/**
 * Reads or generates the cluster file, and writes nothing yet.
 * @throws UsageError, IsochronError CONFIG_INVALID
 */
export function planCluster(options: DevOptions): DevCluster {
  const configFile = join(options.data, 'cluster.yaml');
  const found = existsSync(configFile) ? readFileSync(configFile, 'utf8') : undefined;
  const text = options.keepConfig && found !== undefined ? found : writeClusterFile(devClusterFile(options));
  const config = parseClusterFile(text, configFile);
  return { configFile, configText: text === found ? undefined : text, config, nodes: planNodes(config, options) };
}

/**
 * Creates the folder of the cluster, and locks it for this process.
 * @returns the file of the secret
 * @throws the system's error where it cannot be written to
 */
export function writeFolder(cluster: DevCluster, { data }: DevOptions): string {
  makeFolder(data);
  accessSync(data, constants.W_OK);
  lockFolder(data);
  const secretFile = ensureSecretFile(data);
  if (cluster.configText !== undefined) replaceFile(cluster.configFile, cluster.configText);
  for (const { dataDir } of cluster.nodes) makeFolder(dataDir);
  return secretFile;
}
