import { parseBusyMs, shareOfOthers } from './machine-load.js';
import { cpuMs, mappedBytes, parseCpuMs, parseIo, parseMappedBytes } from './proc.js';
import { parseCalls, SyscallCount } from './profile/syscalls.js';

describe('/proc/<pid>/stat', () => {
  it('the text of /proc/<pid>/stat gives user and system time, also of a process whose name looks like fields', () => {
    const stat = '42 (node) 1 2) S 1 42 42 0 -1 4194304 9000 0 0 0 250 50 3 4 20 0 11 0 100 1000000 2000';
    expect(parseCpuMs(stat)).toBe(3000);
  });

  it('another text than that of /proc/<pid>/stat is refused', () => {
    expect(() => parseCpuMs('42 (node) S 1')).toThrow(/not the text/);
  });

  it('/proc/<pid>/stat counts the time of this process, on Linux', () => {
    const spent = cpuMs(process.pid);
    if (process.platform === 'linux') expect(spent).toBeGreaterThan(0);
    else expect(spent).toBeUndefined();
  });
});

describe('/proc/<pid>/io', () => {
  it('the text of /proc/<pid>/io gives its numbers by name', () => {
    expect(parseIo('rchar: 12\nsyscr: 3\nwrite_bytes: 4096\n').get('write_bytes')).toBe(4096);
  });
});

describe('/proc/<pid>/status', () => {
  it('the text of /proc/<pid>/status gives the bytes of mapped files', () => {
    expect(parseMappedBytes('VmRSS:\t  200 kB\nRssAnon:\t  120 kB\nRssFile:\t   80 kB\n')).toBe(80 * 1024);
    expect(() => parseMappedBytes('VmRSS: 200 kB')).toThrow(/not the text/);
  });

  it('/proc/<pid>/status counts the mapped files of this process, on Linux', () => {
    if (process.platform === 'linux') expect(mappedBytes(process.pid)).toBeGreaterThan(0);
    else expect(mappedBytes(process.pid)).toBeUndefined();
  });
});

describe('what others use of the machine', () => {
  const stat = (user: number, idle: number): string => `cpu  ${user} 10 20 ${idle} 500 0 5 2 100 0\ncpu0 1 2 3 4\n`;

  it('the busy time of the machine is all work but waiting, guests counted once', () => {
    expect(parseBusyMs(stat(100, 9000))).toBe(1370);
    expect(parseBusyMs(stat(100, 1))).toBe(1370);
    expect(() => parseBusyMs('cpu0 1 2 3 4')).toThrow(/not the text/);
  });

  it("the load of others is a share of all cores over the time, without the benchmark's own use", () => {
    const before = { busyMs: 1000, ownMs: 100, atMs: 0 };
    expect(shareOfOthers(before, { busyMs: 2000, ownMs: 700, atMs: 1000 }, 2)).toBeCloseTo(0.2);
    expect(shareOfOthers(before, { busyMs: 1500, ownMs: 700, atMs: 1000 }, 2)).toBe(0);
  });
});

describe('the table of strace', () => {
  it('the table of strace gives calls by name, with and without errors, and no sum', () => {
    const text = [
      '% time     seconds  usecs/call     calls    errors syscall',
      '------ ----------- ----------- --------- --------- ----------------',
      ' 60.00    0.006000          30       200           write',
      ' 40.00    0.004000          20       150        50 read',
      '------ ----------- ----------- --------- --------- ----------------',
      '100.00    0.010000          28       350        50 total',
    ].join('\n');
    expect([...parseCalls(text)]).toEqual([
      ['write', 200],
      ['read', 150],
    ]);
  });
});

describe('a count of system calls', () => {
  /** Above the greatest process id of Linux. */
  const NO_PROCESS = 2 ** 22 + 1;

  it('a count of system calls does not begin when a process cannot be traced, or without strace', async () => {
    expect(await SyscallCount.start([NO_PROCESS], '/dev/null')).toBeUndefined();
  });
});
