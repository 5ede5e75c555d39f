/**
 * When updates of other regions become visible here: sampled by reading them, so that it means the same under every
 * protocol.
 */
import { type QualifiedKey, type RegionId, type Timestamp, type Version, wallOf } from '@isochron/core';
import type { Replicate } from '@isochron/protocols';

export interface VisibilityOptions {
  /** The node's wall clock, ms. */
  now(): number;
  /** The version that a new session reads on this node. */
  read(key: QualifiedKey): Promise<Pick<Version, 'ts'> | null>;
  /** An update of `source` is visible, this long after its timestamp, the difference of the clocks included. */
  visible(source: RegionId, ms: number): void;
}

/** The update that the sampler waits for. */
interface Awaited {
  readonly key: QualifiedKey;
  readonly ts: Timestamp;
  readonly source: RegionId;
}

/** Time between two samples: they must cost next to nothing. */
const SAMPLE_EVERY_MS = 1_000;
/** Time between two reads of one update: the resolution of a sample. */
const LOOK_EVERY_MS = 10;
/** An update that is not visible after this time, for example while a region is cut off, is not a sample. */
const GIVE_UP_AFTER_MS = 10_000;

/** Follows one update at a time. */
export class VisibilitySampler {
  readonly #options: VisibilityOptions;
  #nextAt = 0;
  #following = false;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: VisibilityOptions) {
    this.#options = options;
  }

  /** Takes updates from another region. */
  received(message: Replicate): void {
    if (this.#following || this.#closed) return;
    const now = this.#options.now();
    if (now < this.#nextAt) return;
    const awaited = lastUpdate(message);
    if (awaited === undefined) return;
    this.#nextAt = now + SAMPLE_EVERY_MS;
    this.#following = true;
    void this.#follow(awaited, now + GIVE_UP_AFTER_MS);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  async #follow(awaited: Awaited, until: number): Promise<void> {
    try {
      const seen = await this.#options.read(awaited.key);
      const now = this.#options.now();
      if (this.#closed) return;
      if (seen !== null && seen.ts >= awaited.ts) {
        this.#options.visible(awaited.source, Math.max(0, now - wallOf(awaited.ts)));
        this.#following = false;
      } else if (now >= until) this.#following = false;
      else this.#timer = setTimeout(() => void this.#follow(awaited, until), LOOK_EVERY_MS).unref();
    } catch {
      // A refused read is not a sample; the next update is.
      this.#following = false;
    }
  }
}

/** The last update of a range that leaves a value. */
function lastUpdate({ source, groups }: Replicate): Awaited | undefined {
  const group = groups.at(-1);
  const write = group?.txs.at(-1)?.writes.at(-1);
  if (group === undefined || write === undefined || write.value === null) return undefined;
  return { key: write.key, ts: group.ct, source };
}
