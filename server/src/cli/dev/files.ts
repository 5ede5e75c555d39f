/** The folder of a development cluster: cluster file, secret, a folder per node. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ClusterConfig, parseClusterFile, writeClusterFile } from '../../config/cluster-file.js';
import { ensureSecretFile } from '../../config/secret.js';
import { replaceFile } from '../files.js';
import { type DevOptions, devClusterFile, type PlannedNode, planNodes } from './plan.js';

/** Everything that is needed to start the nodes. */
export interface DevFolder {
  readonly configFile: string;
  readonly secretFile: string;
  readonly config: ClusterConfig;
  readonly nodes: readonly PlannedNode[];
}

/**
 * Writes the cluster file and the secret where they are missing, or the options say otherwise than the file.
 * @throws UsageError, IsochronError CONFIG_INVALID, or the system's error for a folder that cannot be written to
 */
export function prepareFolder(options: DevOptions): DevFolder {
  const configFile = join(options.data, 'cluster.yaml');
  const keep = options.keepConfig && existsSync(configFile);
  const text = keep ? readFileSync(configFile, 'utf8') : writeClusterFile(devClusterFile(options));
  const config = parseClusterFile(text, configFile);
  mkdirSync(options.data, { recursive: true });
  const secretFile = ensureSecretFile(options.data);
  if (!keep && !(existsSync(configFile) && readFileSync(configFile, 'utf8') === text)) replaceFile(configFile, text);
  const nodes = planNodes(config, options);
  for (const { dataDir } of nodes) mkdirSync(dataDir, { recursive: true });
  return { configFile, secretFile, config, nodes };
}
