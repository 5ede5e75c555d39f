import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clearQuarantine, quarantine, quarantineOf } from './quarantine.js';

describe('the verdict of a node on its disk', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'isochron-quarantine-'));
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const write = (file: string, text: string) => writeFileSync(join(folder, file), text);

  it('a data folder without a verdict is in no quarantine', () => {
    expect(quarantineOf(folder)).toBeUndefined();
  });

  it('a verdict is read back by the next start', () => {
    quarantine(folder, { step: 'retire', reason: 'a record is damaged' });
    expect(quarantineOf(folder)).toEqual({ step: 'retire', reason: 'a record is damaged' });
  });

  it('the verdict of a build before 0.1.0 is obeyed, and a newer one comes first', () => {
    write('DISTRUSTED.json', '{"step":"rebuild","reason":"old"}');
    expect(quarantineOf(folder)).toEqual({ step: 'rebuild', reason: 'old' });
    quarantine(folder, { step: 'retire', reason: 'new' });
    expect(quarantineOf(folder)?.reason).toBe('new');
  });

  it.each(['QUARANTINE.json', 'DISTRUSTED.json'])('a damaged %s means a rebuild, the safe step', (file) => {
    for (const text of ['', '{', 'null', '{"step":"other","reason":"r"}', '{"step":"retire"}']) {
      write(file, text);
      expect(quarantineOf(folder)).toEqual({ step: 'rebuild', reason: `the file ${file} is damaged` });
    }
  });

  it('a cleared quarantine leaves no verdict of any build', () => {
    quarantine(folder, { step: 'rebuild', reason: 'r' });
    write('DISTRUSTED.json', '{"step":"rebuild","reason":"old"}');
    clearQuarantine(folder);
    expect(quarantineOf(folder)).toBeUndefined();
    expect(['QUARANTINE.json', 'DISTRUSTED.json'].some((file) => existsSync(join(folder, file)))).toBe(false);
  });

  it('a verdict that cannot be read is an error, not the absence of one', () => {
    expect(() => quarantineOf(join(folder, 'x'.repeat(300)))).toThrow();
  });
});
