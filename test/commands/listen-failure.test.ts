import { expect, test } from 'vitest'
import { CommandFailed, listenFailure, systemReason } from '../../src/commands/failures.ts'

const LISTENERS = { HOST: '0.0.0.0', PORT: 8080, ADMIN_HOST: '127.0.0.1', ADMIN_PORT: 9901 }

const systemError = (code: string, more: object) =>
  Object.assign(new Error(`${code}: no reason`), { code, syscall: 'listen', ...more })

const told = (error: Error, listeners: Partial<typeof LISTENERS> = {}) => {
  const failure = listenFailure(error, { ...LISTENERS, ...listeners })
  expect(failure).toBeInstanceOf(CommandFailed)
  return failure instanceof Error ? failure.message : ''
}

test.each([
  [
    'EADDRINUSE',
    { address: '0.0.0.0', port: 8080 },
    'port 8080 on 0.0.0.0 is in use; stop what listens there or change PORT',
  ],
  ['EADDRINUSE', { port: 9901 }, 'port 9901 on 127.0.0.1 is in use; stop what listens there or change ADMIN_PORT'],
  ['EACCES', { port: 8080 }, 'no permission to listen on port 8080; change PORT to one above 1023'],
  ['EADDRNOTAVAIL', { address: '0.0.0.0', port: 8080 }, 'HOST is 0.0.0.0, which is not an address of this machine'],
  [
    'ENOTFOUND',
    { syscall: 'getaddrinfo', hostname: '127.0.0.1' },
    'ADMIN_HOST is 127.0.0.1, a name without an address (ENOTFOUND)',
  ],
  [
    'EAI_AGAIN',
    { syscall: 'getaddrinfo', hostname: '0.0.0.0' },
    'HOST is 0.0.0.0, a name without an address (EAI_AGAIN)',
  ],
  [
    'EINVAL',
    { syscall: 'bind', port: 9901 },
    'cannot listen on port 9901 of 127.0.0.1 (EINVAL); see ADMIN_HOST and ADMIN_PORT',
  ],
])('%s of %o names the setting', (code, more, message) => {
  expect(told(systemError(code, more))).toBe(message)
})

test('where both listeners have one port, or one host, the other decides', () => {
  const same = { PORT: 8080, ADMIN_PORT: 8080 }
  expect(told(systemError('EACCES', { address: '127.0.0.1', port: 8080 }), same)).toContain('change ADMIN_PORT')
  expect(told(systemError('EACCES', { address: '0.0.0.0', port: 8080 }), same)).toContain('change PORT')
  const oneHost = { HOST: '127.0.0.1' }
  expect(told(systemError('EACCES', { address: '127.0.0.1' }), oneHost)).toContain('change PORT')
})

test('an error that is not about listening stays what it is', () => {
  const others = [
    systemError('EACCES', { syscall: 'open' }),
    new Error('other'),
    'text',
    systemError('EACCES', { syscall: undefined }),
  ]
  for (const error of others) expect(listenFailure(error, LISTENERS)).toBe(error)
})

test('an error of the operating system is told with its file and its reason', () => {
  const of = (more: object, message = 'ENOENT: no such file or directory, open a.csv') =>
    systemReason(Object.assign(new Error(message), { code: 'ENOENT', syscall: 'open', ...more }))
  expect(of({ path: 'a.csv' })).toBe('cannot open a.csv: no such file or directory')
  expect(of({})).toBe('cannot open: no such file or directory')
  expect(of({}, 'odd')).toBe('cannot open: ENOENT')
  expect(of({ code: undefined }, 'odd')).toBe('cannot open: odd')
  expect(of({ syscall: 'uv_cwd' })).toBe('the current folder does not exist any more; change to another one')
  expect(systemReason(Object.assign(new Error('x'), { syscall: 'read', path: 'a' }), 'standard input')).toBe(
    'cannot read standard input: x',
  )
})
