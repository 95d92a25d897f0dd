import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { cleanEnv, type Ended, newFolder, ROOT, run, start } from '../command.ts'
import { CLIENT } from '../gateway.ts'
import type { Sandbox } from '../stand-in/stand-in.ts'

const MAIN = join(ROOT, 'src/main.ts')

/** A folder to run commands in, with the journal. */
export function folder(): string {
  const path = newFolder('certify')
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** The environment of a command that certifies a stand-in. */
export const envOf = ({ url }: Pick<Sandbox, 'url'>, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv =>
  cleanEnv({ V2_BASE_URL: url, V2_CLIENT_ID: CLIENT.id, V2_CLIENT_SECRET: CLIENT.secret, ...more })

/** Runs `transload certify assumptions`. */
export function certify(
  sandbox: Pick<Sandbox, 'url'>,
  cwd: string,
  words: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<Ended> {
  return run(process.execPath, [MAIN, 'certify', 'assumptions', ...words], { cwd, env: envOf(sandbox, env) })
}

/** Starts `transload certify assumptions`. */
export function startCertify(sandbox: Pick<Sandbox, 'url'>, cwd: string, words: readonly string[]) {
  return start(process.execPath, [MAIN, 'certify', 'assumptions', ...words], { cwd, env: envOf(sandbox) })
}
