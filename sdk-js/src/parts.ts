/** Parts of the client that bundlers keep in files of their own, and that are loaded where they are needed. */
import { IsochronError } from '@isochron/core/errors';

/**
 * The part, once it is loaded.
 * @param loading the `import()` of the part, which names it for bundlers
 * @throws IsochronError CODE_UNAVAILABLE where the file could not be fetched: the call may be repeated
 */
export const part = <T>(loading: Promise<T>): Promise<T> =>
  loading.catch((cause: unknown) => {
    throw new IsochronError('CODE_UNAVAILABLE', `a part of the client could not be loaded: ${cause}`, { cause });
  });
