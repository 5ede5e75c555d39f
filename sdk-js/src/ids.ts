import { toBase64 } from '@isochron/client/encoding';
import { IsochronError } from '@isochron/core/errors';

/**
 * 128 random bits as 22 characters of base64url: the name of a session (P8).
 * @throws IsochronError PLATFORM_UNSUPPORTED on a platform without secure randomness
 */
export function randomSessionId(): string {
  const { crypto } = globalThis as { crypto?: { getRandomValues?<T>(bytes: T): T } };
  const random = crypto?.getRandomValues?.(new Uint8Array(16));
  if (random === undefined) {
    const why = 'no crypto.getRandomValues: load react-native-get-random-values first';
    throw new IsochronError('PLATFORM_UNSUPPORTED', why);
  }
  return toBase64(random).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
