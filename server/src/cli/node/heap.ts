/** How much memory the heap of a node's process takes. */
import { setFlagsFromString } from 'node:v8';

/**
 * The heap's old generation may grow by this part between two collections. V8 lets it double and more, and it keeps the
 * memory: a node that loads many keys takes half as much again, most of it garbage, with the buffers and batches of
 * LevelDB that only a collection frees.
 */
const HEAP_GROWTH_PERCENT = 30;

/** The option of V8 for it. */
export const HEAP_GROWTH_FLAG = `--heap-growing-percent=${HEAP_GROWTH_PERCENT}`;

/** Keeps the memory of the process close to what is in use, for some CPU time while much is loaded. */
export const boundHeapGrowth = (): void => setFlagsFromString(HEAP_GROWTH_FLAG);
