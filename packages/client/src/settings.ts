import type { Homing } from './link/homing.js';
import type { LinkSettings } from './link/settings.js';
import type { ImportedSession } from './session/exported.js';

/** How to reach a cluster, and as which session. */
export interface ClientOptions {
  /** Base URLs of nodes. */
  readonly endpoints: readonly string[];
  readonly token?: string | undefined;
  /** A session that goes on here: from `importSession`. */
  readonly session?: ImportedSession | undefined;
}

export interface ClientSettings extends LinkSettings {
  /** Name and version of the SDK. */
  readonly client: string;
  readonly credentials: string | undefined;
  readonly commitTimeoutMs: number;
  readonly returnAfterMs: number;
  /** The class that searches for a nearer endpoint; undefined with only one endpoint. */
  readonly Homing: typeof Homing | undefined;
  /** 128 random bits as 22 characters of base64url: the name of a session (P8). */
  readonly newId: () => string;
}
