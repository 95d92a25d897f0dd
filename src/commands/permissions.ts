/** The rights of Node's permission model. The types lack `drop`, and so do older releases of Node 24. */
interface Permission {
  readonly has: (right: string) => boolean
  readonly drop?: (right: string) => void
}

/**
 * Gives up for good what a process that answers calls does not need: to start processes, and to start threads unless its
 * store has them. It has no effect unless Node runs with `--permission`.
 */
export function dropPermissions({ keepThreads }: { readonly keepThreads: boolean }): void {
  const { permission }: { readonly permission?: Permission } = process
  permission?.drop?.('child')
  if (!keepThreads) permission?.drop?.('worker')
}

/** An access that the permission model refuses. */
interface AccessDenied extends Error {
  readonly code: 'ERR_ACCESS_DENIED'
  readonly permission?: string
  readonly resource?: string
}

export const isAccessDenied = (error: unknown): error is AccessDenied =>
  error instanceof Error && 'code' in error && error.code === 'ERR_ACCESS_DENIED'

const FLAGS: Readonly<Record<string, string>> = {
  FileSystemRead: '--allow-fs-read',
  FileSystemWrite: '--allow-fs-write',
  ChildProcess: '--allow-child-process',
  WorkerThreads: '--allow-worker',
}

/** Names the flag that would allow the access. */
export function accessReason({ message, permission = '', resource = '' }: AccessDenied): string {
  const flag = FLAGS[permission]
  if (flag === undefined) return message
  if (!permission.startsWith('FileSystem')) return `Node runs with --permission and needs ${flag} for this (WORKERS)`
  return `Node runs with --permission and without access to ${resource}; add ${flag}=${resource}`
}
