import { chosenFrom } from './options.js';

describe('--only', () => {
  const all = ['idle', 'idle-partitions', 'idle-sessions', 'http-get', 'http-put'].map((name) => ({ name }));
  const chosen = (text: string): string[] => chosenFrom(all)(text).map(({ name }) => name);

  it('--only chooses one benchmark by its full name, or all with the given prefix, in their order', () => {
    expect(chosen('idle')).toEqual(['idle']);
    expect(chosen('http-')).toEqual(['http-get', 'http-put']);
    expect(chosen('http, idle-p')).toEqual(['idle-partitions', 'http-get', 'http-put']);
  });

  it('--only refuses an unknown name, and lists the known ones', () => {
    expect(() => chosen('http-get,https')).toThrow(/none is called "https"; there are idle, idle-partitions/);
  });
});
