/** Checks of packages that run in the tier `all`, and in other tiers when their inputs have changed since. */
import { filesChanged } from '../commit.js';
import { TIER } from '../tier.js';

/** The Swift SDK, its tests, and the client that its vectors come from. A test holds its declarations equal to ours. */
export const SWIFT_INPUTS = [
  'sdk-swift',
  'infra/swift',
  'infra/dev/swift-checks.mjs',
  'packages/client/src',
  'test/vectors',
  'test/swift-server',
  'test/e2e/swift-client.ts',
] as const;

/**
 * `it` where a check of these inputs is due, and `it.skip` where it is not.
 * @param inputs files and folders, from the root of the repository
 */
export const whenChanged = (...inputs: readonly string[]): jest.It => (isDue(inputs) ? it : (it.skip as jest.It));

/** Whether a check of these inputs is due in the tier that runs. */
export const isDue = (inputs: readonly string[]): boolean => TIER === 'all' || haveChanged(inputs);

/** Whether these files differ from those that last passed the tier `all`; true where that is not known. */
export function haveChanged(inputs: readonly string[], root?: string): boolean {
  const files = filesChanged(root);
  return files === undefined || [...files].some((file) => inputs.some((input) => `${file}/`.startsWith(`${input}/`)));
}
