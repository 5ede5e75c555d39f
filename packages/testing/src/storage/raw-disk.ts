/** The database under a store, for tests that damage its content. The store must be closed. */
import { ClassicLevel } from 'classic-level';

/** Opens the database, and closes it after the use. */
export async function onRawDisk<T>(
  location: string,
  use: (disk: ClassicLevel<string, Buffer>) => Promise<T>,
): Promise<T> {
  const disk = new ClassicLevel<string, Buffer>(location, { valueEncoding: 'buffer' });
  try {
    return await use(disk);
  } finally {
    await disk.close();
  }
}

/** Changes the value of one record. */
export const spoilRecord = (location: string, diskKey: string, change: (value: Buffer) => Uint8Array): Promise<void> =>
  onRawDisk(location, async (disk) => {
    const value = await disk.get(diskKey);
    if (value === undefined) throw new Error(`there is no record ${diskKey}`);
    await disk.put(diskKey, Buffer.from(change(Buffer.from(value))));
  });
