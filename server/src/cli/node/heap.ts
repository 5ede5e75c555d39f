/** How much memory the heap of a node's process takes. */
import { setFlagsFromString } from 'node:v8';

/**
 * The heap's old generation may grow by this part between two collections. V8 lets it double and more, and it keeps the
 * memory: a node that loads many keys takes half as much again, most of it garbage, with the buffers and batches of
 * LevelDB that only a collection frees. Collections take a third of the CPU of a node that writes much, so a node with
 * enough memory lets its heap double.
 */
const GROWTH_PERCENT = { spare: 30, enough: 100 };
/** Memory of a node from which on there is enough. */
const ENOUGH_BYTES = 2 ** 30;

/** The option of V8 for a node with so much memory. */
export const heapGrowthFlag = (memoryBytes: number): string =>
  `--heap-growing-percent=${memoryBytes < ENOUGH_BYTES ? GROWTH_PERCENT.spare : GROWTH_PERCENT.enough}`;

/** Keeps the memory of the process close to what is in use, for some CPU time while much is loaded. */
export const boundHeapGrowth = (memoryBytes: number): void => setFlagsFromString(heapGrowthFlag(memoryBytes));
