/** Files that an operator replaces while the node runs. */
import { stat } from 'node:fs/promises';

/** Time between two looks, ms. */
export const LOOK_INTERVAL_MS = 1_000;

/**
 * Looks at files once a second, and calls `changed` after one of them was written, replaced, made or deleted. A change
 * is reported once two looks in a row find the same: files that are replaced one right after the other, such as a
 * certificate and its key, are then all in place. Links are followed, so that a container platform may turn a link to
 * another folder. Polling works on every file system, network ones too.
 *
 * @returns a function that ends it
 */
export function watchFiles(paths: readonly string[], changed: () => void, intervalMs = LOOK_INTERVAL_MS): () => void {
  let known: string | undefined;
  let last: string | undefined;
  let looking = false;
  const look = async (): Promise<void> => {
    const found = (await Promise.all(paths.map(stampOf))).join('\n');
    const steady = found === last;
    last = found;
    known ??= found;
    if (!steady || found === known) return;
    known = found;
    changed();
  };
  const timer = setInterval(() => {
    if (looking) return;
    looking = true;
    void look().finally(() => {
      looking = false;
    });
  }, intervalMs).unref();
  void look();
  return () => clearInterval(timer);
}

/** Changes whenever the contents of a file may have. */
async function stampOf(path: string): Promise<string> {
  try {
    const { ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return `${ino} ${size} ${mtimeNs} ${ctimeNs}`;
  } catch (error) {
    return String(error);
  }
}
