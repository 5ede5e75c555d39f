import { IsochronError } from '@isochron/core';
import { CorruptRecord, cannotOpen, isOutOfRoom, storageFailed } from './failure.js';

const systemError = (code: string, message: string): Error => Object.assign(new Error(message), { code });
/** As LevelDB reports it: the reason is in the text of the cause. */
const levelError = (text: string): Error =>
  Object.assign(new Error('Batch failed'), {
    cause: systemError('LEVEL_IO_ERROR', `IO error: /data/000003.log: ${text}`),
  });

describe('a disk operation that failed', () => {
  it.each([
    ['a full disk', systemError('ENOSPC', 'no space left on device')],
    ['a quota of the file system', systemError('EDQUOT', 'quota exceeded')],
    ['a full disk, as LevelDB reports it', levelError('No space left on device')],
    ['a quota, as LevelDB reports it', levelError('Disk quota exceeded')],
  ])('a disk operation that fails for want of room is the transient STORAGE_FULL: %s', (_what, error) => {
    for (const failure of [storageFailed('Cannot write to disk', error), cannotOpen('/data', error)]) {
      const message = expect.stringMatching(/make room/i);
      expect(failure).toMatchObject({ code: 'STORAGE_FULL', retryable: true, message });
      expect(isOutOfRoom(failure)).toBe(true);
    }
  });

  it.each([
    ['an I/O error', levelError('Input/output error'), IsochronError],
    ['a lost file', levelError('No such file or directory'), CorruptRecord],
    ['a text that holds the words', systemError('LEVEL_IO_ERROR', 'No space left on device: a'), IsochronError],
  ])('a disk operation that fails for another reason is not STORAGE_FULL: %s', (_what, error, kind) => {
    const failure = storageFailed('Cannot write to disk', error);
    expect(failure).toBeInstanceOf(kind);
    expect([failure.code, isOutOfRoom(failure)]).toEqual(['STORAGE_FAILED', false]);
  });
});
