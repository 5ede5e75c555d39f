/** How much memory the heap of a node's process takes. */
import { setFlagsFromString } from 'node:v8';

/**
 * The heap's old generation may grow by this part between two collections. V8 lets it double and more, and it keeps the
 * memory: a node that loads many keys takes half as much again, most of it garbage, with the buffers and batches of
 * LevelDB that only a collection frees. Collections take a third of the CPU of a node that writes much, so a node with
 * enough memory lets its heap double.
 */
const GROWTH_PERCENT = { spare: 30, enough: 100 };
/** Memory for keys that tells the two apart: a quarter of 1 GiB. */
const ENOUGH_CACHE_BYTES = 2 ** 28;

/** The option of V8 for a node whose keys may take so much memory. */
export const heapGrowthFlag = (cacheBytes: number): string =>
  `--heap-growing-percent=${cacheBytes < ENOUGH_CACHE_BYTES ? GROWTH_PERCENT.spare : GROWTH_PERCENT.enough}`;

/** Keeps the memory of the process close to what is in use, for some CPU time while much is loaded. */
export const boundHeapGrowth = (cacheBytes: number): void => setFlagsFromString(heapGrowthFlag(cacheBytes));
