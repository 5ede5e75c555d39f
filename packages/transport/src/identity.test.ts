import { urisOf } from './identity.js';

describe('the URIs of a certificate', () => {
  it.each([
    ['URI:isochron://a/node/b', ['isochron://a/node/b']],
    ['DNS:x, URI:isochron://a/node/b, IP Address:::1', ['isochron://a/node/b']],
    ['URI:isochron://a/node/b, URI:isochron://a/node/c', ['isochron://a/node/b', 'isochron://a/node/c']],
    ['DNS:"x, URI:isochron://a/node/b"', []],
    ['DNS:"x\\", URI:isochron://a/node/b, DNS:\\""', []],
    ['DNS:x', []],
    ['', []],
  ])(
    'the URIs of a certificate are those of its list, and never a part of another name: %s',
    (subjectAltName, uris) => {
      expect(urisOf(subjectAltName)).toEqual(uris);
    },
  );
});
