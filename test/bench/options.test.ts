import { chosenFrom } from './options.js';

describe('--only', () => {
  const all = ['idle', 'idle-partitions', 'idle-sessions', 'http-get', 'http-put'].map((name) => ({ name }));
  const chosen = (text: string): string[] => chosenFrom(all)(text).map(({ name }) => name);

  it('chooses by a full name that benchmark alone, by a beginning all that have it, in their order', () => {
    expect(chosen('idle')).toEqual(['idle']);
    expect(chosen('http-')).toEqual(['http-get', 'http-put']);
    expect(chosen('http, idle-p')).toEqual(['idle-partitions', 'http-get', 'http-put']);
  });

  it('refuses a name that none has, and lists those that there are', () => {
    expect(() => chosen('http-get,https')).toThrow(/none is called "https"; there are idle, idle-partitions/);
  });
});
