/** Signs the member in at an OpenID Connect provider: the code flow with PKCE. */
import { UserManager, WebStorageStateStore } from 'oidc-client-ts';

/** A member who is signed in. */
export interface SignedIn {
  /** The name that the provider's token states. */
  readonly name: string;
  /** The identity token, renewed where it has expired: for the option `auth` of the client. */
  token(): Promise<string>;
}

/** The name of this app at the provider. */
const CLIENT_ID = 'lists';

/**
 * The member who is signed in in this tab. Where there is none, leaves for the provider's page, which comes back to
 * this address.
 */
export async function signIn(issuer: string): Promise<SignedIn> {
  const here = new URL(location.href);
  const cameBack = here.searchParams.has('code');
  for (const name of ['code', 'state', 'iss', 'session_state']) here.searchParams.delete(name);
  const manager = new UserManager({
    authority: issuer,
    client_id: CLIENT_ID,
    redirect_uri: `${here.origin}/`,
    scope: 'openid profile',
    userStore: new WebStorageStateStore({ store: sessionStorage }),
  });
  if (cameBack) {
    const user = await manager.signinCallback();
    history.replaceState({}, '', `/?${user?.url_state ?? ''}`);
    return signedIn(manager);
  }
  const user = await manager.getUser();
  if (user !== null && user.expired !== true) return signedIn(manager);
  await manager.signinRedirect({ url_state: here.searchParams.toString() });
  return new Promise(() => undefined);
}

async function signedIn(manager: UserManager): Promise<SignedIn> {
  const user = await manager.getUser();
  return {
    name: String(user?.profile.name),
    token: async () => {
      const current = await manager.getUser();
      if (current?.id_token !== undefined && current.expired !== true) return current.id_token;
      const renewed = await manager.signinSilent();
      if (renewed?.id_token === undefined) throw new Error('the provider has ended the session: sign in again');
      return renewed.id_token;
    },
  };
}
