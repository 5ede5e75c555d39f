/** Checks of packages that run in the tier `all`, and in other tiers when their inputs have changed since. */
import { filesChanged } from '../commit.js';
import { TIER } from '../tier.js';

/**
 * `it` where a check of these inputs is due, and `it.skip` where it is not.
 * @param inputs files and folders, from the root of the repository
 */
export const whenChanged = (...inputs: readonly string[]): jest.It =>
  TIER === 'all' || haveChanged(inputs) ? it : (it.skip as jest.It);

/** Whether these files differ from those that last passed the tier `all`; true where that is not known. */
export function haveChanged(inputs: readonly string[], root?: string): boolean {
  const files = filesChanged(root);
  return files === undefined || [...files].some((file) => inputs.some((input) => `${file}/`.startsWith(`${input}/`)));
}
