import type { Homing } from './link/homing.js';
import type { OpenRenewal } from './link/renewal.js';
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
  /** Credentials that do not expire. */
  readonly credentials?: string | undefined;
  /** Renews credentials that the driver has on request (`authenticate`); undefined where it has none. */
  readonly renewal?: OpenRenewal | undefined;
  /** The class that searches for a nearer endpoint; undefined with only one endpoint. */
  readonly Homing: typeof Homing | undefined;
  /** 128 random bits as 22 characters of base64url: the name of a session (P8). */
  readonly newId: () => string;
}
