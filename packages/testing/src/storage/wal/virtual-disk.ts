/** A disk in memory that fails as disks do: for tests of the content of a log after a crash. */
import type { LogFile, LogFolder } from '@isochron/storage/wal/files';

/** One call of the file layer. */
export interface Step {
  readonly kind:
    | 'list'
    | 'create'
    | 'open'
    | 'rename'
    | 'remove'
    | 'syncFolder'
    | 'read'
    | 'write'
    | 'truncate'
    | 'sync';
  /** The file; empty for the folder. */
  readonly name: string;
}

/**
 * Called before each step. May wait, throw the error that the step ends with, or wait for ever: the process is dead.
 */
export type BeforeStep = (step: Step) => void | Promise<void>;

/** The files of a folder after a power failure. */
export type Image = ReadonlyMap<string, Buffer>;

/** How many of the possible losses are tried: every byte at which a write may be cut, or a few. */
export type Thoroughness = 'every' | 'some';

/** A change of a file that no sync has made durable. */
type PendingWrite = { readonly offset: number; readonly bytes: Buffer } | { readonly size: number };

/** A change of names that no sync has made durable. */
type NameChange =
  | { readonly kind: 'link'; readonly name: string; readonly inode: Inode }
  | { readonly kind: 'rename'; readonly from: string; readonly to: string; readonly inode: Inode }
  | { readonly kind: 'unlink'; readonly name: string };

class Inode {
  /** The content that a read returns. */
  content: Buffer = Buffer.alloc(0);
  durable: Buffer = Buffer.alloc(0);
  pending: PendingWrite[] = [];

  change(change: PendingWrite): void {
    this.content = applied(this.content, change);
    this.pending.push(change);
  }

  sync(): void {
    for (const change of this.pending) this.durable = applied(this.durable, change);
    this.pending = [];
  }
}

const SECTOR_BYTES = 512;

/** A folder on a disk. A write is readable at once and durable after a sync; so are changes of names. */
export class VirtualDisk {
  #names = new Map<string, Inode>();
  #durableNames = new Map<string, Inode>();
  #pendingNames: NameChange[] = [];

  constructor(image: Image = new Map()) {
    for (const [name, content] of image) {
      const inode = new Inode();
      inode.change({ offset: 0, bytes: Buffer.from(content) });
      inode.sync();
      this.#names.set(name, inode);
    }
    this.#durableNames = new Map(this.#names);
  }

  /** The folder as a process sees it. It survives the process: after a kill another one mounts the same disk. */
  mount(before: BeforeStep = () => undefined): LogFolder {
    const names = this.#names;
    const step = async (kind: Step['kind'], name: string): Promise<void> => {
      await before({ kind, name });
    };
    const opened = (name: string): VirtualFile => new VirtualFile(name, present(names, name), step);
    return {
      list: async () => {
        await step('list', '');
        return [...names.keys()];
      },
      create: async (name) => {
        await step('create', name);
        if (names.has(name)) throw systemError('EEXIST', 'file already exists');
        this.#rename({ kind: 'link', name, inode: new Inode() });
        return opened(name);
      },
      open: async (name) => {
        await step('open', name);
        return opened(name);
      },
      rename: async (from, to) => {
        await step('rename', from);
        this.#rename({ kind: 'rename', from, to, inode: present(names, from) });
      },
      remove: async (name) => {
        await step('remove', name);
        present(names, name);
        this.#rename({ kind: 'unlink', name });
      },
      sync: async () => {
        await step('syncFolder', '');
        this.#durableNames = new Map(names);
        this.#pendingNames = [];
      },
    };
  }

  /** The files after a kill of the process: the operating system has everything. */
  get files(): Image {
    return new Map([...this.#names].map(([name, { content }]) => [name, content]));
  }

  /**
   * The possible states after a power failure: any part of the unsynced names and contents may be left. A lost part of
   * a write keeps the older content: the end of the file, zeros, or older bytes.
   */
  *afterPowerFailure(thoroughness: Thoroughness): Generator<Image> {
    for (const names of this.#survivingNames()) yield* imagesOf([...names], thoroughness);
  }

  #rename(change: NameChange): void {
    renamed(this.#names, change);
    this.#pendingNames.push(change);
  }

  *#survivingNames(): Generator<ReadonlyMap<string, Inode>> {
    for (let subset = 0; subset < 2 ** this.#pendingNames.length; subset++) {
      const names = new Map(this.#durableNames);
      for (const [i, change] of this.#pendingNames.entries()) if ((subset >> i) & 1) renamed(names, change);
      yield names;
    }
  }
}

class VirtualFile implements LogFile {
  constructor(
    readonly name: string,
    readonly inode: Inode,
    readonly step: (kind: Step['kind'], name: string) => Promise<void>,
  ) {}

  async size(): Promise<number> {
    return this.inode.content.length;
  }

  async read(offset: number, length: number): Promise<Buffer> {
    await this.step('read', this.name);
    if (offset + length > this.inode.content.length) throw new Error('the file ends before');
    return Buffer.from(this.inode.content.subarray(offset, offset + length));
  }

  async write(bytes: Uint8Array, offset: number): Promise<void> {
    try {
      await this.step('write', this.name);
    } catch (error) {
      // A write that fails has written a part.
      this.inode.change({ offset, bytes: Buffer.from(bytes.subarray(0, bytes.length >> 1)) });
      throw error;
    }
    this.inode.change({ offset, bytes: Buffer.from(bytes) });
  }

  async writeDurably(bytes: Uint8Array, offset: number): Promise<void> {
    await this.write(bytes, offset);
    await this.sync();
  }

  async truncate(size: number): Promise<void> {
    await this.step('truncate', this.name);
    this.inode.change({ size });
  }

  async sync(): Promise<void> {
    try {
      await this.step('sync', this.name);
    } catch (error) {
      // The bytes stay readable, and no later sync writes them.
      this.inode.pending = [];
      throw error;
    }
    this.inode.sync();
  }

  async close(): Promise<void> {}
}

function present(names: ReadonlyMap<string, Inode>, name: string): Inode {
  const inode = names.get(name);
  if (inode === undefined) throw systemError('ENOENT', 'no such file or directory');
  return inode;
}

/** An error as Node reports it. */
export const systemError = (code: string, message: string): Error => Object.assign(new Error(message), { code });

function renamed(names: Map<string, Inode>, change: NameChange): void {
  if (change.kind === 'rename') names.delete(change.from);
  if (change.kind === 'unlink') names.delete(change.name);
  else names.set(change.kind === 'link' ? change.name : change.to, change.inode);
}

function applied(content: Buffer, change: PendingWrite): Buffer {
  if ('size' in change) return resized(content, change.size);
  const { offset, bytes } = change;
  const whole = resized(content, Math.max(content.length, offset + bytes.length));
  bytes.copy(whole, offset);
  return whole;
}

function resized(content: Buffer, size: number): Buffer {
  const other = Buffer.alloc(size);
  content.copy(other);
  return other;
}

function* imagesOf(names: readonly (readonly [string, Inode])[], thoroughness: Thoroughness): Generator<Image> {
  const [first, ...others] = names;
  if (first === undefined) {
    yield new Map();
    return;
  }
  const [name, { durable, pending }] = first;
  for (const content of contentsOf(durable, pending, thoroughness)) {
    for (const image of imagesOf(others, thoroughness)) yield new Map([[name, content], ...image]);
  }
}

function* contentsOf(durable: Buffer, pending: readonly PendingWrite[], thoroughness: Thoroughness): Generator<Buffer> {
  const [first, ...others] = pending;
  if (first === undefined) yield durable;
  else for (const content of survivals(durable, first, thoroughness)) yield* contentsOf(content, others, thoroughness);
}

/** Possible states of a file after one change. */
function* survivals(content: Buffer, change: PendingWrite, thoroughness: Thoroughness): Generator<Buffer> {
  yield content;
  yield applied(content, change);
  if ('size' in change) return;
  const { offset, bytes } = change;
  const grown = resized(content, Math.max(content.length, offset + bytes.length));
  for (const cut of cutsOf(bytes.length, thoroughness)) {
    const part = { offset, bytes: bytes.subarray(0, cut) };
    yield applied(content, part);
    yield applied(grown, part);
  }
  yield* sectorSurvivals(grown, offset, bytes);
}

function* cutsOf(length: number, thoroughness: Thoroughness): Generator<number> {
  if (thoroughness === 'some') yield* [0, length >> 1, length - 1];
  else for (let cut = 0; cut < length; cut++) yield cut;
}

/** Every choice of the sectors that a write touches, if they are few. */
function* sectorSurvivals(grown: Buffer, offset: number, bytes: Buffer): Generator<Buffer> {
  const first = Math.floor(offset / SECTOR_BYTES);
  const count = Math.ceil((offset + bytes.length) / SECTOR_BYTES) - first;
  for (let subset = 1; count > 1 && count < 10 && subset < 2 ** count - 1; subset++) {
    const content = Buffer.from(grown);
    for (let i = 0; i < count; i++) {
      if (((subset >> i) & 1) === 0) continue;
      const from = Math.max(0, (first + i) * SECTOR_BYTES - offset);
      const end = Math.min(bytes.length, (first + i + 1) * SECTOR_BYTES - offset);
      bytes.copy(content, offset + from, from, end);
    }
    yield content;
  }
}
