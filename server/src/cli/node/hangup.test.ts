import { reloadOnHangup } from './hangup.js';

it('SIGHUP reads every file of a node again, with a line in the log, and ends nothing', () => {
  const before = process.listenerCount('SIGHUP');
  const [lines, reloaded] = [[] as string[], [] as string[]];
  const files = ['auth', 'rules'].map((name) => ({ reload: () => void reloaded.push(name) }));
  reloadOnHangup({ info: (line: string) => void lines.push(line) }, [files[0], undefined, files[1]]);
  try {
    process.emit('SIGHUP');
    expect([reloaded, lines.length]).toEqual([['auth', 'rules'], 1]);
  } finally {
    process.removeListener('SIGHUP', process.listeners('SIGHUP')[before] as () => void);
  }
});
