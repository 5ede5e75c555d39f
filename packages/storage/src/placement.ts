/**
 * The placement that a data folder was made for (D14). Under another placement a node would answer for partitions that
 * it does not hold; it refuses to start instead.
 */
import { randomUUID } from 'node:crypto';
import { access, open, readdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import {
  type ClusterMap,
  clusterMap,
  IsochronError,
  isConsistent,
  type NodeId,
  type PartitionId,
  Topology,
} from '@isochron/core';
import { cannotOpen, codeOf, unknownFormat } from './failure.js';
import { makeFolder } from './folder.js';

/** The part of the cluster file that a node's data depend on. */
export interface Placement {
  /** Id of the cluster; a folder of another cluster is refused. */
  readonly clusterId: string;
  /** The protocol that wrote the data: another one would misread the dependencies of versions. */
  readonly protocol: string;
  readonly node: NodeId;
  /** Map 0, which the cluster file gives. */
  readonly map: ClusterMap;
}

/** File inside the data folder. */
export const PLACEMENT_FILE = 'PLACEMENT.json';
const FORMAT = 3;

/**
 * Writes the placement into a new data folder, or compares it with the stored one. Call it before the store is opened.
 *
 * @param hasData whether the folder holds data although it has no placement file; by default, whether a LevelDB is in
 * it or in a folder directly below
 * @returns the random id of the store, made with the folder (D10)
 * @throws IsochronError `PLACEMENT_MISMATCH` when the data is another node's or the placement differs; `STORAGE_FORMAT`
 * for a folder of another format; `STORAGE_FAILED` when the folder cannot be used or the file is damaged
 */
export async function verifyPlacement(
  location: string,
  placement: Placement,
  hasData: () => Promise<boolean> = () => holdsDatabase(location),
): Promise<{ storeId: string }> {
  const file = join(location, PLACEMENT_FILE);
  try {
    await makeFolder(location);
    const text = await readIfThere(file);
    if (text !== undefined) return { storeId: compare(parse(file, text), placement, location) };
    if (await hasData()) {
      throw mismatch(
        `The data folder ${location} holds data but no ${PLACEMENT_FILE}. Restore that file, or start with an empty folder`,
      );
    }
    const storeId = randomUUID();
    await writeAtomically(location, file, `${JSON.stringify({ format: FORMAT, storeId, ...placement }, null, 2)}\n`);
    return { storeId };
  } catch (error) {
    throw cannotOpen(location, error);
  }
}

type StoredPlacement = Placement & { readonly storeId: string };

const mismatch = (message: string): IsochronError => new IsochronError('PLACEMENT_MISMATCH', message);

function parse(file: string, text: string): StoredPlacement {
  try {
    const raw: unknown = JSON.parse(text);
    const { format } = Object(raw) as { readonly format?: unknown };
    if (typeof format === 'number' && format !== FORMAT) throw unknownFormat(`The file ${file}`, format, FORMAT);
    if (isStored(raw)) return raw;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new IsochronError(
    'STORAGE_FAILED',
    `The file ${file} is damaged. Restore it from a backup, or refill the node`,
    {
      retryable: false,
    },
  );
}

function isStored(raw: unknown): raw is StoredPlacement {
  if (typeof raw !== 'object' || raw === null) return false;
  const { format, storeId, clusterId, node, map, protocol } = raw as Record<string, unknown>;
  return (
    format === FORMAT && [storeId, clusterId, node, protocol].every((field) => typeof field === 'string') && isMap(map)
  );
}

function isMap(raw: unknown): raw is ClusterMap {
  try {
    const map = clusterMap.decode(clusterMap.encode(raw as ClusterMap));
    return isDeepStrictEqual(map, raw) && isConsistent(map);
  } catch {
    return false;
  }
}

/** The numbers of the partitions that a node holds, by name. */
function heldBy(node: NodeId, map: ClusterMap): ReadonlyMap<string, PartitionId> {
  const topology = new Topology(map);
  const held = topology.hasNode(node) ? topology.partitionsOn(node) : [];
  return new Map(held.map((id) => [topology.partitions[id]!.name, id]));
}

/** Returns the store's id when nothing has moved. */
function compare(stored: StoredPlacement, wanted: Placement, location: string): string {
  const advice = 'Changing the placement is an operation, not an edit of the cluster file';
  if (stored.clusterId !== wanted.clusterId) {
    throw mismatch(`The data in ${location} belongs to cluster ${stored.clusterId}, not to ${wanted.clusterId}`);
  }
  if (stored.node !== wanted.node) {
    throw mismatch(`The data in ${location} belongs to node ${stored.node}, not to ${wanted.node}`);
  }
  if (stored.protocol !== wanted.protocol) {
    throw mismatch(
      `The data in ${location} was written under the protocol ${stored.protocol}, not ${wanted.protocol}. Start with an empty folder, or with that protocol`,
    );
  }
  const wantedIds = heldBy(wanted.node, wanted.map);
  const storedIds = heldBy(stored.node, stored.map);
  for (const [name, id] of storedIds) {
    const now = wantedIds.get(name);
    if (now === undefined)
      throw mismatch(
        `The cluster file moves partition ${name} away from node ${wanted.node}, which holds its data in ${location}. ${advice}`,
      );
    if (now !== id)
      throw mismatch(
        `The cluster file renumbers partition ${name} from ${id} to ${now}, but ${location} holds its data under ${id}. ${advice}`,
      );
  }
  for (const name of wantedIds.keys()) {
    if (!storedIds.has(name))
      throw mismatch(
        `The cluster file places partition ${name} on node ${wanted.node}, but ${location} has no data of it. ${advice}`,
      );
  }
  if (!isDeepStrictEqual(stored.map, wanted.map))
    throw mismatch(
      `The cluster file differs in the nodes, or in the placement of their data, from that with which ${location} was made. ${advice}`,
    );
  return stored.storeId;
}

/** A folder with `CURRENT` is a LevelDB. */
async function holdsDatabase(location: string): Promise<boolean> {
  const entries = await readdir(location, { withFileTypes: true });
  const folders = ['.', ...entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)];
  const found = await Promise.all(folders.map((folder) => exists(join(location, folder, 'CURRENT'))));
  return found.includes(true);
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

const isMissing = (error: unknown): boolean => codeOf(error) === 'ENOENT';

/** A crash leaves either no file or the whole file. */
async function writeAtomically(folder: string, file: string, text: string): Promise<void> {
  const temporary = `${file}.new`;
  const handle = await open(temporary, 'w');
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, file);
  // The name is durable only after a sync of the folder.
  const directory = await open(folder, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
