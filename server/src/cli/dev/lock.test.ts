import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lockFolder } from './lock.js';

describe('lockFolder', () => {
  let data: string;
  beforeEach(() => {
    data = mkdtempSync(join(tmpdir(), 'isochron-lock-'));
  });
  afterEach(() => rmSync(data, { recursive: true, force: true }));

  const holder = (): string => readFileSync(join(data, 'dev.pid'), 'utf8').trim();

  it('lockFolder takes a free folder', () => {
    lockFolder(data);
    expect(holder()).toBe(String(process.pid));
  });

  it('lockFolder refuses a folder that a running process has, and names that process', () => {
    writeFileSync(join(data, 'dev.pid'), String(process.ppid));
    expect(() => lockFolder(data)).toThrow(`process ${process.ppid} runs a cluster in ${data}`);
  });

  it('lockFolder takes over the folder of a process that has ended', () => {
    const { pid } = spawnSync(process.execPath, ['-e', '']);
    writeFileSync(join(data, 'dev.pid'), String(pid));
    lockFolder(data);
    expect(holder()).toBe(String(process.pid));
  });
});
