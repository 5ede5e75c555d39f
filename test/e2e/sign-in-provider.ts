/**
 * A process with an OpenID Connect provider on loopback, for the example "lists": it takes any password. Its arguments
 * are its port, the address of the page, and the names of its users.
 */
import Provider, { type Configuration } from 'oidc-provider';

const [port = '', page = '', ...names] = process.argv.slice(2);

/** The account of a user: the name in lower-case letters. */
const nameOf = (account: string): string | undefined => names.find((name) => name.toLowerCase() === account);

const configuration: Configuration = {
  clients: [
    {
      client_id: 'lists',
      application_type: 'web',
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code'],
      response_types: ['code'],
      redirect_uris: [page],
    },
  ],
  clientBasedCORS: () => true,
  // The identity token has the name.
  conformIdTokenClaims: false,
  claims: { openid: ['sub'], profile: ['name'] },
  cookies: { keys: ['a key of tests alone'] },
  findAccount: (_context, id) => {
    const name = nameOf(id);
    return name === undefined ? undefined : { accountId: id, claims: () => ({ sub: id, name }) };
  },
  // Members do not have to confirm what the app may see.
  loadExistingGrant: async ({ oidc }) => {
    const grant = new oidc.provider.Grant({ clientId: oidc.client!.clientId, accountId: oidc.session!.accountId! });
    grant.addOIDCScope('openid profile');
    await grant.save();
    return grant;
  },
};

const issuer = `http://127.0.0.1:${port}`;
new Provider(issuer, configuration).listen(Number(port), '127.0.0.1', () => console.log(`${issuer} is ready`));
