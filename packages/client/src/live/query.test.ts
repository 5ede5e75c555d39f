import { parseQuery } from './query.js';

const messageOf = (raw: object): string => {
  try {
    parseQuery(raw);
  } catch (error) {
    expect(error).toMatchObject({ code: 'INVALID_REQUEST' });
    return String((error as Error).message);
  }
  return '';
};
const where = (clause: unknown) => ({ where: [{ path: '/a', op: '==', value: 1 }, clause] });
const orderBy = (clause: unknown) => ({ orderBy: [clause] });

describe('the form of a query', () => {
  it.each<[object, string]>([
    [{ where: {} }, 'where has to be an array of at most 100 objects'],
    [{ where: Array(101).fill({ path: '', op: '==', value: 1 }) }, 'where has to be an array of at most 100 objects'],
    [where(null), 'where[1] has to be an object with a path'],
    [
      where({ op: '==', value: 1 }),
      'where[1].path has to be a JSON Pointer (RFC 6901): empty, or names that each follow a slash',
    ],
    [
      where({ path: 'a', op: '==', value: 1 }),
      'where[1].path has to be a JSON Pointer (RFC 6901): empty, or names that each follow a slash',
    ],
    [
      where({ path: '/a~2', op: '==', value: 1 }),
      'where[1].path has to be a JSON Pointer (RFC 6901): empty, or names that each follow a slash',
    ],
    [where({ path: '/a', op: '=', value: 1 }), 'where[1].op must be one of ==, !=, <, <=, >, >=, in, array-contains'],
    [where({ path: '/a', op: '==' }), 'where[1] has to have a value'],
    [where({ path: '/a', op: 'in', value: 1 }), 'where[1].value has to be an array: op is in'],
    [where({ path: '/a', op: '<', value: [] }), 'where[1].value has to be a number, a text or a boolean: op is <'],
    [where({ path: '/a', op: '==', value: 1, not: true }), 'where[1] has no not'],
    [orderBy({ path: '/a', direction: 'up' }), 'orderBy[0].direction has to be asc or desc'],
    [orderBy({ path: '/a', desc: true }), 'orderBy[0] has no desc'],
    [orderBy('/a'), 'orderBy[0] has to be an object with a path'],
    [{ limit: -1 }, 'limit has to be a whole number from 0 on'],
    [{ limit: 1.5 }, 'limit has to be a whole number from 0 on'],
    [{ limit: '1' }, 'limit has to be a whole number from 0 on'],
    [{ reverse: 1 }, 'reverse has to be true or false'],
  ])('a query of a wrong form is refused with a sentence that names the clause: %j', (raw, message) => {
    expect(messageOf(raw)).toBe(message);
  });

  it('a query keeps its clauses as they are, and equal queries have one form', () => {
    const clauses = {
      where: [{ path: '/a', op: 'in', value: [1] }],
      orderBy: [{ path: '', direction: 'desc' }],
      limit: 2,
    };
    expect(parseQuery(clauses)).toEqual(clauses);
    expect(parseQuery({ where: [], orderBy: undefined, reverse: false, limit: undefined })).toEqual({});
  });
});
