/** What a principal may do at most. Access rules may allow less. */
export const ROLES = ['operator', 'reader', 'writer'] as const;

/**
 * `reader` reads documents, lists and changes; `writer` writes them, and reads; `operator` administers the cluster, and
 * sees no documents.
 */
export type Role = (typeof ROLES)[number];

/** Longest id of a principal, in UTF-8 bytes. */
export const MAX_PRINCIPAL_LENGTH = 512;

/** Who makes a request, as the node has verified it. */
export interface Principal {
  /**
   * Stable, and unique over all sources: `anonymous`, `key:` and the name of an API key, or the issuer and the subject
   * of a token with `#` between them. Ids, tokens and quotas are bound to it.
   */
  readonly id: string;
  readonly roles: ReadonlySet<Role>;
  /** Claims of its token, or attributes of its key: JSON values. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** When its credentials expire, by the node's wall clock in ms; null for never. */
  readonly expiresAt: number | null;
}

/** For whom tokens are signed: no one in particular where callers need no credentials. */
export const holderOf = ({ id }: Principal): string => (id === ANONYMOUS_PRINCIPAL.id ? '' : id);

/** Every caller of a cluster that requires no credentials. */
export const ANONYMOUS_PRINCIPAL: Principal = {
  id: 'anonymous',
  roles: new Set(ROLES),
  claims: {},
  expiresAt: null,
};
