/** A node's data folder: opened when it can be trusted, set aside when it cannot (D10, D14). */
import { access, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { RecoveredState } from '@isochron/core';
import { lacksData } from '@isochron/protocols';
import { CorruptRecord, openLevelStore, type Placement, type VersionStore, verifyPlacement } from '@isochron/storage';
import type { Logger } from 'pino';
import { type Distrust, distrusted, lostWithTheMachine, trustAgain } from './distrust.js';

export interface DataFolderOptions {
  readonly dataDir: string;
  readonly placement: Placement;
  readonly durability: 'synced' | 'memory';
  readonly cacheBytes: number;
  readonly logger: Logger;
}

/** What a node starts with. */
export interface OpenedData {
  readonly storeId: string;
  readonly store: VersionStore;
  readonly recovered: RecoveredState;
  /** A damage that was found earlier: the node takes no new work until it is rebuilt. */
  readonly retiring: string | undefined;
}

/**
 * @throws IsochronError STORAGE_FAILED when the folder cannot be used, PLACEMENT_MISMATCH
 */
export async function openDataFolder(options: DataFolderOptions): Promise<OpenedData> {
  const { dataDir, placement, durability, logger } = options;
  const { storeId } = await verifyPlacement(dataDir, placement);
  const verdict = await verdictOf(dataDir, durability);
  if (verdict?.step === 'rebuild') await setAside(dataDir, verdict.reason, logger);
  const opened = await openTrusted(options);
  if (lacksData(opened.recovered) && opened.recovered.meta.size > 0) {
    // Half a copy, of a rebuild that was interrupted: what its source has collected since would come back to life.
    await opened.store.close();
    await rm(join(dataDir, STORE), { recursive: true });
    return { storeId, ...(await openStore(options)), retiring: undefined };
  }
  return { storeId, ...opened, retiring: verdict?.step === 'retire' ? verdict.reason : undefined };
}

const STORE = 'store';

async function verdictOf(dataDir: string, durability: 'synced' | 'memory'): Promise<Distrust | undefined> {
  if (durability === 'memory' && (await lostWithTheMachine(dataDir))) {
    const reason = 'the machine went down while writes were only in its memory (durability: memory)';
    return { step: 'rebuild', reason };
  }
  return distrusted(dataDir);
}

/** Opens the store; one that cannot even say what it holds is set aside at once. */
async function openTrusted(options: DataFolderOptions): Promise<Pick<OpenedData, 'store' | 'recovered'>> {
  try {
    return await openStore(options);
  } catch (error) {
    // Records in an unknown format are whole: another version of the program reads them.
    if (!(error instanceof CorruptRecord) || error.damage === 'version') throw error;
    await setAside(options.dataDir, error.message, options.logger);
    return openStore(options);
  }
}

async function openStore({ dataDir, durability, cacheBytes }: DataFolderOptions) {
  const store = await openLevelStore({ location: join(dataDir, STORE), durability, cacheBytes });
  try {
    return { store, recovered: await store.recover() };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Keeps the old data, for who wants to look at them, under a name of their own. */
async function setAside(dataDir: string, reason: string, logger: Logger): Promise<void> {
  const store = join(dataDir, STORE);
  let n = 1;
  while (await exists(`${store}.distrusted-${n}`)) n++;
  const kept = `${store}.distrusted-${n}`;
  if (await exists(store)) await rename(store, kept);
  trustAgain(dataDir);
  logger.error({ reason, kept }, 'the data of this node are set aside; it fetches them anew from its peers');
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}
