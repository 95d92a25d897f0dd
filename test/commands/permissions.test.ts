import { expect, onTestFinished, test } from 'vitest'
import { accessReason, isAccessDenied, reportFailure } from '../../src/commands/failures.ts'
import { dropPermissions } from '../../src/commands/process.ts'
import { watchStream } from './terminal.ts'

const denied = (permission: string | undefined, resource?: string) =>
  Object.assign(new Error('Access to this API has been restricted'), {
    code: 'ERR_ACCESS_DENIED' as const,
    ...(permission !== undefined && { permission }),
    ...(resource !== undefined && { resource }),
  })

test.each([
  ['FileSystemRead', '/etc/x', 'Node runs with --permission and without access to /etc/x; add --allow-fs-read=/etc/x'],
  ['FileSystemWrite', '/data', 'Node runs with --permission and without access to /data; add --allow-fs-write=/data'],
  ['ChildProcess', undefined, 'Node runs with --permission and needs --allow-child-process for this (WORKERS)'],
  ['WorkerThreads', undefined, 'Node runs with --permission and needs --allow-worker for this (WORKERS)'],
  ['Inspector', undefined, 'Access to this API has been restricted'],
  [undefined, undefined, 'Access to this API has been restricted'],
])('a refused access by %s to %s names the flag', (permission, resource, reason) => {
  const error = denied(permission, resource)
  expect(isAccessDenied(error)).toBe(true)
  expect(accessReason(error)).toBe(reason)
  const { take } = watchStream('stderr', { isTTY: false })
  expect(reportFailure(error)).toBe(1)
  expect(take()).toBe(`transload: ${reason}\n`)
})

test('other errors are no refused access', () => {
  for (const error of [
    new Error('x'),
    Object.assign(new Error('x'), { code: 'EACCES' }),
    { code: 'ERR_ACCESS_DENIED' },
  ])
    expect(isAccessDenied(error)).toBe(false)
})

test('a gateway gives up processes, and threads unless its store needs them', () => {
  const before = Object.getOwnPropertyDescriptor(process, 'permission')
  const dropped: string[] = []
  const set = (permission: object | undefined) =>
    Object.defineProperty(process, 'permission', { configurable: true, value: permission })
  onTestFinished(() => {
    if (before) Object.defineProperty(process, 'permission', before)
    else Reflect.deleteProperty(process, 'permission')
  })
  set({ drop: (right: string) => dropped.push(right) })
  dropPermissions({ keepThreads: true })
  expect(dropped.splice(0)).toEqual(['child'])
  dropPermissions({ keepThreads: false })
  expect(dropped).toEqual(['child', 'worker'])
  // Without the permission model, and in releases that cannot give up rights.
  for (const other of [undefined, {}]) {
    set(other)
    dropPermissions({ keepThreads: false })
  }
  expect(dropped).toHaveLength(2)
})
